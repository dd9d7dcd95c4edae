//! How the kernel is told what an operation is of, and tells it back.

use super::link::Operation;

/// What a completion is of, as io_uring carries it: operation (8 bits), whether it is of the operation's cancelling
/// (1), generation (23), link (32). Zero is of no operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Name(pub u64);

impl Name {
    const GENERATIONS: u32 = (1 << 23) - 1;
    const CANCELLING: u64 = 1 << 55;

    pub(super) fn new(operation: Operation, generation: u32, index: u32) -> Name {
        let generation = u64::from(generation & Name::GENERATIONS);
        Name((operation as u64) << 56 | generation << 32 | u64::from(index))
    }

    pub(super) fn cancelling(self) -> Name {
        Name(self.0 | Name::CANCELLING)
    }

    pub(super) fn is_cancelling(self) -> bool {
        self.0 & Name::CANCELLING != 0
    }

    pub(super) fn operation(self) -> Option<Operation> {
        Operation::ALL
            .into_iter()
            .find(|&it| it as u64 == self.0 >> 56)
    }

    pub(super) fn is_of(self, generation: u32) -> bool {
        (self.0 >> 32) as u32 & Name::GENERATIONS == generation & Name::GENERATIONS
    }

    pub(super) fn index(self) -> u32 {
        self.0 as u32
    }
}
