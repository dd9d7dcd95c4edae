//! Slots lying one upon the other: the last that was put down is taken up first, and any can be drawn out from between.
//!
//! Last in, first out, so that as few connections as possible stay warm and the rest may grow old. Drawing one out costs
//! no search: servers close connections that lie idle, and with thousands of them a search each would be felt.

/// No slot.
const NONE: u32 = u32::MAX;

/// A stack of slots, by their indices.
#[derive(Debug)]
pub(crate) struct Stack {
    top: u32,
    /// For each slot that lies here the ones above and below it.
    links: Vec<Option<Link>>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    above: u32,
    below: u32,
}

impl Stack {
    /// An empty one, for slots under `slots`.
    pub(crate) fn new(slots: u32) -> Stack {
        Stack {
            top: NONE,
            links: vec![None; slots as usize],
        }
    }

    /// Puts a slot on top; one that lies here already stays where it is.
    pub(crate) fn push(&mut self, slot: u32) {
        if self.links[slot as usize].is_some() {
            return;
        }
        self.links[slot as usize] = Some(Link {
            above: NONE,
            below: self.top,
        });
        if let Some(Some(link)) = self.links.get_mut(self.top as usize) {
            link.above = slot;
        }
        self.top = slot;
    }

    /// Whether no slot lies here.
    pub(crate) fn is_empty(&self) -> bool {
        self.top == NONE
    }

    /// Takes the one on top.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let top = self.top;
        self.remove(top).then_some(top)
    }

    /// Draws a slot out; false where it does not lie here.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let Some(link) = self.links.get_mut(slot as usize).and_then(Option::take) else {
            return false;
        };
        if let Some(Some(above)) = self.links.get_mut(link.above as usize) {
            above.below = link.below;
        } else {
            self.top = link.below;
        }
        if let Some(Some(below)) = self.links.get_mut(link.below as usize) {
            below.above = link.above;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_was_put_down_is_taken_up_first() {
        let mut stack = Stack::new(5);
        [3, 0, 4, 0].into_iter().for_each(|slot| stack.push(slot));
        let taken: Vec<u32> = std::iter::from_fn(|| stack.pop()).collect();
        assert_eq!(taken, [4, 0, 3]);
        assert_eq!(stack.pop(), None);
    }

    #[test]
    fn any_can_be_drawn_out_and_the_others_keep_their_order() {
        for drawn in 0..5 {
            let mut stack = Stack::new(6);
            (0..5).for_each(|slot| stack.push(slot));
            assert!(stack.remove(drawn) && !stack.remove(drawn) && !stack.remove(5));
            stack.push(5);
            let taken: Vec<u32> = std::iter::from_fn(|| stack.pop()).collect();
            let wanted: Vec<u32> = [5]
                .into_iter()
                .chain((0..5).rev().filter(|slot| *slot != drawn))
                .collect();
            assert_eq!(taken, wanted);
        }
    }
}
