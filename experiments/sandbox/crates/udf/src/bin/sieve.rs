//! Counts the primes up to `{1: number}` by the sieve of Eratosthenes: `{1: count}`.

use tare_udf::message::{Fields, Writer};

fn primes(most: usize) -> u64 {
    let mut composite = vec![false; most + 1];
    let mut count = 0;
    for number in 2..=most {
        if composite[number] {
            continue;
        }
        count += 1;
        for multiple in (number * number..=most).step_by(number) {
            composite[multiple] = true;
        }
    }
    count
}

fn main() {
    tare_udf::serve(|request, _| {
        let most = Fields::new(request).number(1).unwrap_or(100_000);
        Writer::default().number(1, primes(most as usize)).done()
    });
}
