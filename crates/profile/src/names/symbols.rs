//! Names of addresses in files and in the kernel, by blazesym.

use std::path::PathBuf;

use blazesym::symbolize::source::{Elf, Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use blazesym::{MaybeDefault, Pid};

use super::go::GoFunctions;
use crate::vdso;

/// Finds names. A name is a list: the function and what is inlined in it at the address, outermost first.
#[derive(Debug)]
pub struct Symbols(Symbolizer);

type Names = Vec<Option<Vec<String>>>;

impl Symbols {
    pub fn new() -> Self {
        // Source lines would double the time and are not reported.
        Self(Symbolizer::builder().enable_code_info(false).build())
    }

    /// Name places in a file: by its symbols, or a Go program's own table.
    pub fn of_file(&self, path: PathBuf, offsets: &[u64]) -> Names {
        let source = Source::Elf(Elf::new(path.clone()));
        let mut names = self.names(&source, Input::FileOffset(offsets));
        if names.iter().any(Option::is_none)
            && let Some(functions) = GoFunctions::of(&path)
        {
            for (name, offset) in names.iter_mut().zip(offsets) {
                let found = || Some(vec![functions.name(*offset)?]);
                *name = name.take().or_else(found);
            }
        }
        names
    }

    /// Name addresses of the kernel.
    pub fn of_kernel(&self, addresses: &[u64]) -> Names {
        let kernel = Kernel {
            vmlinux: MaybeDefault::None,
            debug_syms: false,
            ..Kernel::default()
        };
        self.names(&Source::Kernel(kernel), Input::AbsAddr(addresses))
    }

    /// Name places in the vDSO, which is the same in this process.
    pub fn of_vdso(&self, offsets: &[u64]) -> Names {
        let Some(start) = vdso::range().map(|range| range.start) else {
            return vec![None; offsets.len()];
        };
        let addresses: Vec<u64> = offsets.iter().map(|offset| start + offset).collect();
        self.names(
            &Source::Process(Process::new(Pid::Slf)),
            Input::AbsAddr(&addresses),
        )
    }

    fn names(&self, source: &Source<'_>, input: Input<&[u64]>) -> Names {
        let count = input.into_inner().len();
        match self.0.symbolize(source, input) {
            Ok(found) => found.into_iter().map(names_of).collect(),
            Err(_) => vec![None; count],
        }
    }
}

fn names_of(found: Symbolized<'_>) -> Option<Vec<String>> {
    let Symbolized::Sym(symbol) = found else {
        return None;
    };
    let inlined = symbol
        .inlined
        .iter()
        .map(|function| function.name.to_string());
    Some(
        [symbol.name.to_string()]
            .into_iter()
            .chain(inlined)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_vdso_has_a_name() {
        // The ELF header is no function, but the code behind it is.
        let offsets: Vec<u64> = (0..0x2000).step_by(16).collect();
        let names = Symbols::new().of_vdso(&offsets);
        let clock = |names: &Vec<String>| names[0].contains("clock_gettime");
        assert!(names.iter().flatten().any(clock), "{names:?}");
    }
}
