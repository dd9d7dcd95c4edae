//! The CPUs on which this process may run.

use crate::Errno;

/// CPUs that one word of a mask stands for.
const WORD: usize = u64::BITS as usize;
/// Words of a mask: 65 536 CPUs, more than Linux can be built for. The kernel refuses masks that are smaller than its own.
const WORDS: usize = 1024;

/// The CPUs that the calling thread may run on, ascending; where the kernel does not tell, as many as the standard
/// library sees.
pub fn allowed() -> Vec<u32> {
    let mut mask = vec![0u64; WORDS];
    // SAFETY: pointer and size are those of the mask; the kernel fills at most so much.
    let result = unsafe { libc::sched_getaffinity(0, WORDS * 8, mask.as_mut_ptr().cast()) };
    if Errno::check(result).is_ok() {
        return cpus(&mask);
    }
    let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    (0..count).collect()
}

fn cpus(mask: &[u64]) -> Vec<u32> {
    let set = |index: &usize| mask[index / WORD] >> (index % WORD) & 1 == 1;
    (0..mask.len() * WORD)
        .filter(set)
        .map(|index| index as u32)
        .collect()
}

/// Lets the calling thread run on `cpu` only.
///
/// # Errors
/// EINVAL when there is no such CPU, or it is not allowed.
pub fn pin(cpu: u32) -> Result<(), Errno> {
    allow(&[cpu])
}

/// Lets the calling thread, and what it starts from now on, run on `cpus` only.
///
/// # Errors
/// EINVAL when one of them has a number that no CPU can have, or none of them is allowed.
pub fn allow(cpus: &[u32]) -> Result<(), Errno> {
    Mask::of(cpus)?.allow()
}

/// Lets thread `thread`, and what it starts from now on, run on `cpus` only.
///
/// # Errors
/// As [`allow`]; ESRCH when there is no such thread, EPERM when it is somebody else's.
pub fn move_to(thread: u32, cpus: &[u32]) -> Result<(), Errno> {
    let thread = i32::try_from(thread).map_err(|_| Errno::EINVAL)?;
    Mask::of(cpus)?.put_on(thread)
}

/// CPUs as the kernel wants them named.
pub(crate) struct Mask(Vec<u64>);

impl Mask {
    /// The mask of `cpus`; EINVAL when one of them has a number that no CPU can have.
    pub(crate) fn of(cpus: &[u32]) -> Result<Mask, Errno> {
        let mut mask = vec![0u64; WORDS];
        for cpu in cpus {
            let index = *cpu as usize;
            *mask.get_mut(index / WORD).ok_or(Errno::EINVAL)? |= 1 << (index % WORD);
        }
        Ok(Mask(mask))
    }

    /// Lets the calling thread run on these only. Allocates nothing.
    pub(crate) fn allow(&self) -> Result<(), Errno> {
        self.put_on(0)
    }

    /// The same of another thread; 0 is the calling one.
    fn put_on(&self, thread: i32) -> Result<(), Errno> {
        // SAFETY: pointer and size are those of the mask, which the kernel only reads.
        let result = unsafe { libc::sched_setaffinity(thread, WORDS * 8, self.0.as_ptr().cast()) };
        Errno::check(result).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_allowed_its_cpu_alone() {
        let all = allowed();
        let last = *all.last().unwrap();
        let seen = std::thread::spawn(move || pin(last).map(|()| allowed()))
            .join()
            .unwrap();
        assert_eq!(seen, Ok(vec![last]));
        assert_eq!(allowed(), all, "other threads stay as they were");
        assert_eq!(allow(&all), Ok(()));
        assert_eq!(allow(&[]), Err(Errno::EINVAL));
        assert_eq!(pin(65_535), Err(Errno::EINVAL));
        assert_eq!(pin(u32::MAX), Err(Errno::EINVAL));
    }

    #[test]
    fn a_mask_is_read_over_its_words() {
        assert_eq!(cpus(&[0b101, 1 << 63]), [0, 2, 127]);
    }
}
