//! Maps as programs declare them.

/// The longest key of a map, in bytes.
pub const MAX_KEY: usize = 512;

/// The kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Values by hashed key.
    Hash,
    /// Values by index.
    Array,
    /// A queue of records from programs to a controller (`RINGBUF`, `PERF_EVENT_ARRAY`).
    Events,
    /// A hash that makes room for new keys when it is full.
    LruHash,
    /// A hash whose values have a copy for each processor.
    PerCpuHash,
    /// Both.
    LruPerCpuHash,
    /// An array whose values have a copy for each processor.
    PerCpuArray,
    /// An array of other maps.
    ArrayOfMaps,
    /// A hash of other maps.
    HashOfMaps,
    /// An array of programs to go on with.
    Programs,
}

impl MapKind {
    /// Return true if its keys are hashed.
    pub fn is_hash(self) -> bool {
        match self {
            Self::Hash | Self::LruHash | Self::PerCpuHash => true,
            Self::LruPerCpuHash | Self::HashOfMaps => true,
            Self::Array | Self::PerCpuArray | Self::ArrayOfMaps => false,
            Self::Events | Self::Programs => false,
        }
    }

    /// Return true if a value has a copy for each processor.
    pub fn is_per_cpu(self) -> bool {
        matches!(
            self,
            Self::PerCpuHash | Self::LruPerCpuHash | Self::PerCpuArray
        )
    }

    /// Return true if it takes out an entry to make room for another.
    pub fn evicts(self) -> bool {
        matches!(self, Self::LruHash | Self::LruPerCpuHash)
    }

    /// Return true if its values name other maps.
    pub fn names_maps(self) -> bool {
        matches!(self, Self::ArrayOfMaps | Self::HashOfMaps)
    }

    /// Return true if its values name something of the program.
    pub fn names(self) -> bool {
        self.names_maps() || self == Self::Programs
    }
}

/// A map as a program declares it; sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSpec {
    /// Its name in the object file.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// Bytes of a key; 4 for an array, 0 for events.
    pub key_size: u32,
    /// Bytes of a value; 0 for events.
    pub value_size: u32,
    /// The largest number of entries; for events, the bytes of the queue.
    pub max_entries: u32,
    /// True if programs may only read its values.
    pub read_only: bool,
    /// The start of its first value: the contents of a data section. In a map whose values name something,
    /// for each index 4 bytes: 0, or one more than a place in `choices`.
    pub initial: Vec<u8>,
    /// The choices of its values' names: maps by their number, programs by their first slot.
    pub choices: Vec<usize>,
}

impl MapSpec {
    /// Have the entry with an index name one of the choices, which becomes one if it is none.
    pub(crate) fn name_choice(&mut self, index: u32, choice: usize) {
        let known = self.choices.iter().position(|&known| known == choice);
        let place = known.unwrap_or_else(|| {
            self.choices.push(choice);
            self.choices.len() - 1
        });
        let at = 4 * index as usize;
        self.initial.resize(self.initial.len().max(at + 4), 0);
        self.initial[at..at + 4].copy_from_slice(&(place as u32 + 1).to_le_bytes());
    }
}
