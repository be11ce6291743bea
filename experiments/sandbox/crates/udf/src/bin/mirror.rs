//! Gives back its request, bit for bit.

fn main() {
    tare_udf::serve(|request, _| request.to_vec());
}
