//! The function hello: it returns a greeting, `{1: text}`.

fn main() {
    tare_udf::serve(|_, _| {
        tare_udf::message::Writer::default()
            .bytes(1, b"Hello, world!")
            .done()
    });
}
