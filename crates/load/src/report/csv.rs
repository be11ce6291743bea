//! The figures of each second as comma-separated values.

use std::io::{self, Write};

use super::second::Figures;
use crate::engine::progress::Second;
use crate::engine::{Observer, Phase};

/// Writes a line a second, below a heading.
#[derive(Debug)]
pub struct Csv<W>(W);

impl<W: Write> Csv<W> {
    /// Begin with the heading.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(mut to: W) -> io::Result<Self> {
        writeln!(to, "t_s,phase,rate,in_flight,errors,p50_us,p99_us")?;
        Ok(Csv(to))
    }
}

impl<W: Write> Observer for Csv<W> {
    fn second(&mut self, second: &Second, phase: Phase) -> io::Result<()> {
        let Figures {
            t_s,
            phase,
            rate,
            in_flight,
            errors,
            p50_us,
            p99_us,
        } = Figures::of(second, phase);
        let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let (p50, p99) = (known(p50_us), known(p99_us));
        writeln!(
            self.0,
            "{t_s},{phase},{rate},{in_flight},{errors},{p50},{p99}"
        )?;
        self.0.flush()
    }

    fn measure(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn measured(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_is_a_line() {
        let mut bytes = Vec::new();
        let mut csv = Csv::new(&mut bytes).unwrap();
        let mut second = Second::default();
        second.record(1_500_000);
        csv.second(&second.turn(3, Default::default()), Phase::Warmup)
            .unwrap();
        csv.second(&second.turn(0, Default::default()), Phase::Measure)
            .unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "t_s,phase,rate,in_flight,errors,p50_us,p99_us");
        assert!(lines[1].starts_with("1,warmup,1,3,0,150"), "{text}");
        assert_eq!(lines[2], "2,measure,0,0,0,,");
    }
}
