//! Programs and their maps into the kernel, by the system call bpf(2).
//!
//! Source: the kernel's include/uapi/linux/bpf.h, union bpf_attr.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use filter_ebpf::elf;
use filter_ebpf::insn::Raw;
use filter_ebpf::program::{MapKind, MapSpec};

use super::trim;

const MAP_CREATE: i32 = 0;
const MAP_UPDATE: i32 = 2;
const PROG_LOAD: i32 = 5;
const BTF_LOAD: i32 = 18;
const MAP_FREEZE: i32 = 22;

const XDP: u32 = 6;
/// Programs only read the map.
const READ_ONLY: u32 = 1 << 7;

/// The attributes of a call, as numbers at their places.
#[derive(Default)]
struct Attributes([u32; 32]);

impl Attributes {
    fn with(mut self, byte: usize, number: u32) -> Self {
        self.0[byte / 4] = number;
        self
    }

    fn at<T>(self, byte: usize, data: &[T]) -> Self {
        let address = data.as_ptr() as u64;
        let low = self.with(byte, address as u32);
        low.with(byte + 4, (address >> 32) as u32)
    }

    /// Make the call.
    ///
    /// # Safety
    /// Addresses must be those of as much as the command reads or writes.
    unsafe fn call(&self, command: i32) -> Result<i64, std::io::Error> {
        let size = size_of_val(&self.0);
        // SAFETY: as the caller promises.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), size) };
        if result < 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(result)
    }

    /// Make a call that opens something.
    ///
    /// # Safety
    /// As for [`Self::call`].
    unsafe fn open(&self, command: i32) -> Result<OwnedFd, std::io::Error> {
        // SAFETY: as the caller promises; the file is new.
        unsafe { Ok(OwnedFd::from_raw_fd(self.call(command)? as i32)) }
    }
}

fn number(fd: &OwnedFd) -> u32 {
    fd.as_raw_fd() as u32
}

/// Say whether programs may be loaded here, and why not.
pub fn allowed() -> Result<(), String> {
    // r0 = 0; exit
    let slots = [0xb7u64, 0x95];
    program(&slots, None)
        .map(|_| ())
        .map_err(|reason| format!("bpf(2) loads no program: {reason}"))
}

/// Load the program in a section. Return the error where it is refused.
pub fn load(object: &[u8], section: &str) -> Result<(), String> {
    let linked = elf::link(object, section).map_err(|error| error.to_string())?;
    let mut maps: Vec<OwnedFd> = Vec::new();
    let mut made = vec![None; linked.maps.len()];
    // Maps that others name come first.
    let mut order: Vec<usize> = (0..linked.maps.len()).collect();
    order.sort_by_key(|&map| linked.maps[map].kind.names_maps());
    for index in order {
        let spec = &linked.maps[index];
        let inner = spec.kind.names_maps().then(|| spec.choices[0]);
        let inner = inner
            .and_then(|inner| made[inner])
            .map(|place: usize| number(&maps[place]));
        let map = map(spec, inner).map_err(|error| format!("map {}: {error}", spec.name))?;
        made[index] = Some(maps.len());
        maps.push(map);
    }
    let (mut slots, functions) = trim::reachable(&linked.slots);
    for slot in &mut slots {
        if slot.opcode == 0x18 && matches!(slot.src, 1 | 2) {
            let place = made[slot.imm as usize].expect("all are made");
            slot.imm = number(&maps[place]) as i32;
        }
    }
    let slots: Vec<u64> = slots.iter().map(encoded).collect();
    program(&slots, Some(&functions)).map(|_| ())
}

fn encoded(slot: &Raw) -> u64 {
    let registers = slot.dst | slot.src << 4;
    u64::from(slot.opcode)
        | u64::from(registers) << 8
        | u64::from(slot.offset as u16) << 16
        | u64::from(slot.imm as u32) << 32
}

fn map(spec: &MapSpec, inner: Option<u32>) -> Result<OwnedFd, std::io::Error> {
    let kind = match spec.kind {
        MapKind::Hash => 1,
        MapKind::Array => 2,
        MapKind::Programs => 3,
        MapKind::PerCpuHash => 5,
        MapKind::PerCpuArray => 6,
        MapKind::LruHash => 9,
        MapKind::LruPerCpuHash => 10,
        MapKind::ArrayOfMaps => 12,
        MapKind::HashOfMaps => 13,
        MapKind::Events => 27,
    };
    let flags = if spec.read_only { READ_ONLY } else { 0 };
    let numbers = [
        kind,
        spec.key_size,
        spec.value_size,
        spec.max_entries,
        flags,
    ];
    let numbers = numbers.into_iter().chain(inner);
    let attributes = (0..)
        .zip(numbers)
        .fold(Attributes::default(), |all, (index, number)| {
            all.with(4 * index, number)
        });
    // SAFETY: no addresses.
    let map = unsafe { attributes.open(MAP_CREATE) }?;
    if !spec.initial.is_empty() && !spec.kind.names() {
        let mut value = spec.initial.clone();
        value.resize(spec.value_size as usize, 0);
        let update = Attributes::default().with(0, number(&map));
        let update = update.at(8, &[0u8; 4]).at(16, &value);
        // SAFETY: a key, and a value of its size.
        unsafe { update.call(MAP_UPDATE) }?;
    }
    if spec.read_only {
        // SAFETY: no addresses.
        unsafe { Attributes::default().with(0, number(&map)).call(MAP_FREEZE) }?;
    }
    Ok(map)
}

/// Types of functions that take and return whatever they do: a callback has to have one.
fn types() -> Result<OwnedFd, std::io::Error> {
    let kind = |kind: u32| kind << 24;
    let types = [
        // An int of 32 bits with a sign; a function that returns one; one with that type.
        [1, kind(1), 4, 1 << 24 | 32].as_slice(),
        &[0, kind(13), 1],
        &[5, kind(12), 2],
    ]
    .concat();
    let strings = b"\0int\0f\0";
    let length = 4 * types.len() as u32;
    let head = [
        1 << 16 | 0xeb9f,
        24,
        0,
        length,
        length,
        strings.len() as u32,
    ];
    let words = head
        .iter()
        .chain(&types)
        .flat_map(|word| word.to_le_bytes());
    let blob: Vec<u8> = words.chain(strings.iter().copied()).collect();
    let attributes = Attributes::default().at(0, &blob);
    // SAFETY: as many bytes.
    unsafe { attributes.with(16, blob.len() as u32).open(BTF_LOAD) }
}

fn program(slots: &[u64], functions: Option<&[usize]>) -> Result<OwnedFd, String> {
    let license = b"GPL\0";
    let mut attributes = Attributes::default()
        .with(0, XDP)
        .with(4, slots.len() as u32)
        .at(8, slots)
        .at(16, license);
    let types = types().map_err(|error| format!("types: {error}"))?;
    let places: Vec<u32> = functions
        .unwrap_or_default()
        .iter()
        .flat_map(|&start| [start as u32, 3])
        .collect();
    if !places.is_empty() {
        attributes = attributes
            .with(72, number(&types))
            .with(76, 8)
            .at(80, &places)
            .with(88, places.len() as u32 / 2);
    }
    // SAFETY: instructions, a text and places, as many as said.
    let loaded = unsafe { attributes.open(PROG_LOAD) };
    loaded.map_err(|error| error.to_string())
}
