//! Race detection in shared memory.
//!
//! For each granule (4 bytes, or fewer where a kernel accesses fewer) the shadow keeps who wrote it last and who read it
//! last, each with the number of barriers passed by then. Two threads that meet at a granule, one of them writing,
//! with no barrier between is a race, whatever order they happened to run in.

/// One access: thread and epoch (barriers passed, plus one; 0 for never).
#[derive(Clone, Copy, Debug, Default)]
struct Access {
    thread: u32,
    epoch: u32,
}

/// More than one thread.
const SEVERAL: u32 = u32::MAX;

/// The shadow of the shared memory of one block.
#[derive(Clone, Debug)]
pub struct Shadow {
    granule: usize,
    epoch: u32,
    writes: Vec<Access>,
    reads: Vec<Access>,
}

impl Shadow {
    /// A shadow of so many bytes.
    pub fn new(bytes: usize, granule: usize) -> Shadow {
        let granules = bytes.div_ceil(granule);
        let none = vec![Access::default(); granules];
        Shadow { granule, epoch: 1, writes: none.clone(), reads: none }
    }

    /// All threads of the block have passed a barrier.
    pub fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// A thread reads `length` bytes.
    #[inline(always)]
    pub fn read(&mut self, offset: usize, length: usize, thread: u32) -> Result<(), String> {
        for granule in offset / self.granule..(offset + length).div_ceil(self.granule) {
            let written = self.writes[granule];
            if written.epoch == self.epoch && written.thread != thread {
                return Err(format!(
                    "race at shared byte {}: thread {thread} reads what thread {} wrote since the last barrier",
                    granule * self.granule,
                    written.thread
                ));
            }
            let read = &mut self.reads[granule];
            let shared = read.epoch == self.epoch && read.thread != thread;
            *read = Access { thread: if shared { SEVERAL } else { thread }, epoch: self.epoch };
        }
        Ok(())
    }

    /// A thread writes `length` bytes.
    #[inline(always)]
    pub fn write(&mut self, offset: usize, length: usize, thread: u32) -> Result<(), String> {
        for granule in offset / self.granule..(offset + length).div_ceil(self.granule) {
            let at = granule * self.granule;
            let read = self.reads[granule];
            if read.epoch == self.epoch && read.thread != thread {
                let reader =
                    if read.thread == SEVERAL { "others".into() } else { format!("thread {}", read.thread) };
                return Err(format!(
                    "race at shared byte {at}: thread {thread} writes what {reader} read since the last barrier"
                ));
            }
            let written = &mut self.writes[granule];
            if written.epoch == self.epoch && written.thread != thread {
                return Err(format!(
                    "race at shared byte {at}: thread {thread} writes what thread {} wrote since the last barrier",
                    written.thread
                ));
            }
            *written = Access { thread, epoch: self.epoch };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Shadow;

    #[test]
    fn a_barrier_separates_threads() {
        let mut shadow = Shadow::new(64, 4);
        shadow.write(8, 4, 0).unwrap();
        shadow.read(8, 4, 0).unwrap();
        assert!(shadow.read(8, 4, 1).unwrap_err().contains("thread 1 reads what thread 0 wrote"));
        shadow.barrier();
        shadow.read(8, 4, 1).unwrap();
        shadow.read(8, 4, 2).unwrap();
        assert!(shadow.write(8, 4, 1).unwrap_err().contains("others read"));
        shadow.barrier();
        shadow.write(8, 4, 1).unwrap();
        assert!(shadow.write(8, 4, 2).unwrap_err().contains("thread 1 wrote"));
    }

    #[test]
    fn wide_accesses_touch_each_granule() {
        let mut shadow = Shadow::new(64, 4);
        shadow.write(16, 16, 3).unwrap();
        assert!(shadow.read(28, 4, 4).is_err());
        shadow.read(32, 4, 4).unwrap();
    }

    #[test]
    fn neighbouring_bytes_do_not_race() {
        let mut shadow = Shadow::new(8, 1);
        shadow.write(0, 1, 0).unwrap();
        shadow.write(1, 1, 1).unwrap();
        assert!(Shadow::new(8, 4).write(1, 1, 1).is_ok());
    }
}
