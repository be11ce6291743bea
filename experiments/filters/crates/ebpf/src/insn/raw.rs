//! One slot in its fields.

/// Bytes of one instruction slot.
pub const SLOT: usize = 8;

/// One slot before it is given a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as the instruction set has it")]
pub struct Raw {
    pub opcode: u8,
    pub dst: u8,
    pub src: u8,
    pub offset: i16,
    pub imm: i32,
}

impl Raw {
    /// The slot in eight little-endian bytes.
    pub fn read(bytes: &[u8; SLOT]) -> Self {
        Self {
            opcode: bytes[0],
            dst: bytes[1] & 15,
            src: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            imm: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// The eight bytes of the slot.
    pub fn write(self) -> [u8; SLOT] {
        let (offset, imm) = (self.offset.to_le_bytes(), self.imm.to_le_bytes());
        let registers = self.src << 4 | self.dst & 15;
        [
            self.opcode,
            registers,
            offset[0],
            offset[1],
            imm[0],
            imm[1],
            imm[2],
            imm[3],
        ]
    }
}
