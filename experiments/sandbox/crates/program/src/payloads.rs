//! The original's benchmarks of payloads: so many elements of one size with a request, with its
//! response, or with callbacks.

use prost::Message;

use crate::benchmark::Benchmark;

const SIZES: [usize; 10] = [
    1, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 50_000_000,
];
const COUNTS: [usize; 4] = [1, 10, 100, 1_000];
/// The most bytes of all elements together.
const MOST: usize = 50_000_000;

/// The carrier of the elements, by its number in udf/payload.c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Request = 0,
    Response = 1,
    Callback = 2,
}

/// The request of payload.
#[derive(Clone, PartialEq, Message)]
struct Order {
    #[prost(uint64, tag = "1")]
    size: u64,
    #[prost(uint64, tag = "2")]
    count: u64,
    #[prost(uint64, tag = "3")]
    way: u64,
    #[prost(bytes = "vec", repeated, tag = "4")]
    elements: Vec<Vec<u8>>,
}

/// Its response, which has the elements first.
#[derive(Clone, PartialEq, Message)]
struct Elements {
    #[prost(bytes = "vec", repeated, tag = "2")]
    elements: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Seen {
    #[prost(uint64, tag = "1")]
    bytes: u64,
}

/// All of them, each made when it is its turn: the largest have 50 MB.
pub fn all() -> impl Iterator<Item = Benchmark> {
    [Way::Request, Way::Response, Way::Callback]
        .into_iter()
        .flat_map(|way| sizes().map(move |(size, count)| benchmark(way, size, count)))
}

fn sizes() -> impl Iterator<Item = (usize, usize)> {
    SIZES
        .into_iter()
        .flat_map(|size| COUNTS.map(|count| (size, count)))
        .filter(|(size, count)| size * count <= MOST)
}

fn benchmark(way: Way, size: usize, count: usize) -> Benchmark {
    let elements = || vec![vec![b'\n'; size]; count];
    let order = match way {
        Way::Request => Order {
            elements: elements(),
            ..Order::default()
        },
        _ => Order {
            size: size as u64,
            count: count as u64,
            way: way as u64,
            ..Order::default()
        },
    };
    let mut answer = match way {
        Way::Response => Elements {
            elements: elements(),
        }
        .encode_to_vec(),
        _ => Vec::new(),
    };
    let bytes = (size * count) as u64;
    answer.extend(Seen { bytes }.encode_to_vec());
    Benchmark {
        names: [
            format!("BM_ProcessRequest{way:?}Payload/{size}/{count}"),
            String::new(),
        ],
        function: "payload",
        workers: 2,
        callbacks: way == Way::Callback,
        request: order.encode_to_vec(),
        answer,
        loads: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_the_original_has() {
        assert_eq!(sizes().count(), 31);
        assert_eq!(sizes().last(), Some((50_000_000, 1)));
    }

    #[test]
    fn a_payload_is_written_as_the_function_reads_it() {
        let request = benchmark(Way::Request, 2, 2);
        assert_eq!(request.request, b"\x22\x02\n\n\x22\x02\n\n");
        assert_eq!(request.answer, b"\x08\x04");
        let response = benchmark(Way::Response, 2, 1);
        assert_eq!(response.request, b"\x08\x02\x10\x01\x18\x01");
        assert_eq!(response.answer, b"\x12\x02\n\n\x08\x02");
        let callback = benchmark(Way::Callback, 1, 10);
        assert!(callback.callbacks && callback.answer == b"\x08\x0a");
        assert_eq!(callback.names[0], "BM_ProcessRequestCallbackPayload/1/10");
    }
}
