//! Reading little-endian values, each checked against what is left of the file.

pub struct Reader<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(file: &'a [u8]) -> Reader<'a> {
        Reader { file, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    fn left(&self) -> usize {
        self.file.len() - self.at
    }

    pub fn take(&mut self, bytes: u64, what: &str) -> Result<&'a [u8], String> {
        let (at, left) = (self.at, self.left());
        if bytes > left as u64 {
            return Err(format!("{what} of {bytes} bytes starts at byte {at}, but only {left} bytes follow"));
        }
        self.at += bytes as usize;
        Ok(&self.file[at..self.at])
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let bytes = self.take(N as u64, what)?;
        Ok(*bytes.first_chunk().expect("as many bytes as were asked for"))
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, String> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, String> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub fn string(&mut self, what: &str) -> Result<&'a str, String> {
        let len = self.u64(what)?;
        let at = self.at;
        let bytes = self.take(len, what)?;
        std::str::from_utf8(bytes).map_err(|e| format!("{what} at byte {at} is not UTF-8: {e}"))
    }

    /// Are there bytes for so many things of this least size?
    pub fn room_for(&self, count: u64, least_bytes: u64, before: &str, after: &str) -> Result<(), String> {
        let (at, left) = (self.at, self.left() as u64);
        match count.checked_mul(least_bytes) {
            Some(bytes) if bytes <= left => Ok(()),
            _ => Err(format!(
                "{before} {count} {after} starts at byte {at}, but only {left} bytes follow, room for at most {}",
                left / least_bytes
            )),
        }
    }
}
