//! The CPUs on which this process may run.

use crate::Errno;

/// CPUs that one word of a mask stands for.
const WORD: usize = u64::BITS as usize;
/// Words of the largest mask that is tried: 65 536 CPUs.
const WORDS_MAX: usize = 1024;

fn try_allowed() -> Result<Vec<u32>, Errno> {
    let mut words = 16;
    loop {
        let mut mask = vec![0u64; words];
        // SAFETY: pointer and size are those of the mask; the kernel fills at most so much.
        let result = unsafe { libc::sched_getaffinity(0, words * 8, mask.as_mut_ptr().cast()) };
        match Errno::check(result) {
            Ok(_) => return Ok(cpus(&mask)),
            // The kernel's mask is larger than ours.
            Err(Errno::EINVAL) if words < WORDS_MAX => words *= 2,
            Err(error) => return Err(error),
        }
    }
}

/// The CPUs that the calling thread may run on, ascending; where the kernel does not tell, as many as the standard
/// library sees.
pub fn allowed() -> Vec<u32> {
    try_allowed().unwrap_or_else(|_| {
        let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        (0..count).collect()
    })
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
    let index = cpu as usize;
    if index >= WORDS_MAX * WORD {
        return Err(Errno::EINVAL);
    }
    let mut mask = vec![0u64; index / WORD + 1];
    mask[index / WORD] = 1 << (index % WORD);
    // SAFETY: pointer and size are those of the mask, which the kernel only reads.
    let result = unsafe { libc::sched_setaffinity(0, mask.len() * 8, mask.as_ptr().cast()) };
    Errno::check(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_allowed_its_cpu_alone() {
        let all = try_allowed().unwrap();
        let last = *all.last().unwrap();
        let seen = std::thread::spawn(move || pin(last).map(|()| allowed()))
            .join()
            .unwrap();
        assert_eq!(seen, Ok(vec![last]));
        assert_eq!(allowed(), all, "other threads stay as they were");
        assert_eq!(pin(65_535), Err(Errno::EINVAL));
        assert_eq!(pin(u32::MAX), Err(Errno::EINVAL));
    }

    #[test]
    fn a_mask_is_read_over_its_words() {
        assert_eq!(cpus(&[0b101, 1 << 63]), [0, 2, 127]);
    }
}
