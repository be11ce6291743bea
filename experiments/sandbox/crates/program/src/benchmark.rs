//! A benchmark of the original's.

/// Its names, its function, and the one call that is timed.
pub struct Benchmark {
    /// Before the mode, and behind it.
    pub names: [String; 2],
    /// The name of the function's file.
    pub function: &'static str,
    /// Workers that are kept ready.
    pub workers: usize,
    /// True if the function calls back.
    pub callbacks: bool,
    /// The function's request.
    pub request: Vec<u8>,
    /// The only right response.
    pub answer: Vec<u8>,
    /// True if loading is timed, or calling.
    pub loads: bool,
}
