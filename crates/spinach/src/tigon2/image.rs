//! Firmware images that the host loads into the card.

/// Address range of firmware. Lower addresses hold the rings and words shared with the host; higher addresses are
/// unaddressable.
/// Source: Tigon-2 driver headers and firmware: text begins at 0x4000, external memory ends at 8 MB.
const PLACE: std::ops::Range<u32> = 0x4000..0x80_0000;
/// Size of the header of a released image.
const HEADER_BYTES: usize = 12;

/// Code and data that are copied to one address, and the entry point of the first processor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirmwareImage {
    bytes: Vec<u8>,
    load_address: u32,
    entry: u32,
    version: Option<[u8; 3]>,
}

/// A file that is not a firmware image.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts explain the fields")]
pub enum ImageError {
    #[error(
        "the file has {bytes} bytes, must be at least 16: a header (version, entry, load address: big-endian words) and an \
         instruction"
    )]
    Short { bytes: usize },
    #[error("the image has 0 bytes, must have at least one instruction")]
    Empty,
    #[error("the load address is 0x{address:x}, must be a multiple of 4 from 0x4000 on")]
    Load { address: u32 },
    #[error("the image has {bytes} bytes at 0x{address:x}, must end at or below 0x800000")]
    Room { address: u32, bytes: usize },
    #[error("the entry is 0x{entry:x}, must be a multiple of 4 within the image, 0x{first:x} to 0x{last:x}")]
    Entry { entry: u32, first: u32, last: u32 },
}

impl FirmwareImage {
    /// An image without a header, padded with zeros to whole words.
    pub fn raw(mut bytes: Vec<u8>, load_address: u32, entry: u32) -> Result<FirmwareImage, ImageError> {
        if bytes.is_empty() {
            return Err(ImageError::Empty);
        }
        if !load_address.is_multiple_of(4) || load_address < PLACE.start {
            return Err(ImageError::Load { address: load_address });
        }
        let room = PLACE.end.saturating_sub(load_address) as usize;
        if bytes.len() > room {
            return Err(ImageError::Room { address: load_address, bytes: bytes.len() });
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let last = load_address + bytes.len() as u32 - 4;
        if !entry.is_multiple_of(4) || !(load_address..=last).contains(&entry) {
            return Err(ImageError::Entry { entry, first: load_address, last });
        }
        Ok(FirmwareImage { bytes, load_address, entry, version: None })
    }

    /// An image with a header of three big-endian words: version (three bytes and a zero), entry, load address.
    /// Source: the Linux driver, which reads these words of `acenic/tg2.bin`.
    pub fn with_header(file: &[u8]) -> Result<FirmwareImage, ImageError> {
        let Some((header, body)) = file.split_first_chunk::<HEADER_BYTES>().filter(|(_, body)| body.len() >= 4) else {
            return Err(ImageError::Short { bytes: file.len() });
        };
        let word = |at: usize| blocks::bus::word(&header[at..at + 4]);
        let image = FirmwareImage::raw(body.to_vec(), word(8), word(4))?;
        Ok(FirmwareImage { version: Some([header[0], header[1], header[2]]), ..image })
    }

    /// The bytes to copy, in the card's byte order; a multiple of 4.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Load address in the card's memory.
    pub fn load_address(&self) -> u32 {
        self.load_address
    }

    /// Entry point of the first processor.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// Version from the header, if there is one: `[12, 4, 11]`.
    pub fn version(&self) -> Option<[u8; 3]> {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// `file` is in hexadecimal digits.
    fn check(file: &str, want: Expect) {
        let digits: Vec<u32> = file.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
        want.assert_eq(&match FirmwareImage::with_header(&bytes) {
            Ok(FirmwareImage { bytes, load_address, entry, version }) => {
                format!("{version:?}: {bytes:02x?} at {load_address:x}, entry {entry:x}")
            }
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn a_header_holds_version_entry_and_load_address() {
        check(
            "0c040b00 00004004 00004000 11223344 5566",
            expect!["Some([12, 4, 11]): [11, 22, 33, 44, 55, 66, 00, 00] at 4000, entry 4004"],
        );
    }

    #[test]
    fn files_that_are_not_firmware_are_refused() {
        check(
            "",
            expect![
                "the file has 0 bytes, must be at least 16: a header (version, entry, load address: big-endian words) and an instruction"
            ],
        );
        check(
            "0c040b00 00004000 00004000 112233",
            expect![
                "the file has 15 bytes, must be at least 16: a header (version, entry, load address: big-endian words) and an instruction"
            ],
        );
        check(
            "7f454c46 01020100 00000000 11223344",
            expect!["the load address is 0x0, must be a multiple of 4 from 0x4000 on"],
        );
        check(
            "0c040b00 00004002 00004000 11223344",
            expect!["the entry is 0x4002, must be a multiple of 4 within the image, 0x4000 to 0x4000"],
        );
        check(
            "0c040b00 00004004 00004000 11223344",
            expect!["the entry is 0x4004, must be a multiple of 4 within the image, 0x4000 to 0x4000"],
        );
        check(
            "0c040b00 fffffffc fffffffc 11223344",
            expect!["the image has 4 bytes at 0xfffffffc, must end at or below 0x800000"],
        );
        check(
            "0c040b00 007ffffc 007ffffc 11223344 55",
            expect!["the image has 5 bytes at 0x7ffffc, must end at or below 0x800000"],
        );
    }
}
