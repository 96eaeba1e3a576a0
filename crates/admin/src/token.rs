//! The admin token: the operator's password, in a file that only operators can read.
//!
//! A Unix socket needs no token, since its permissions decide who may connect. To a loopback address, every user of the machine can
//! connect, so a request that changes something, or shows what visitors ask for, needs the token there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// Random bytes of a token that Kasoku makes; it is written in hexadecimal.
const TOKEN_BYTES: usize = 32;

/// The least length of a token in bytes, so that it can't be guessed.
const TOKEN_LENGTH_MIN: usize = 16;

/// The largest token file, in bytes.
const FILE_BYTES_MAX: u64 = 4096;

/// The mode of a new file: only its owner may read it.
const MODE: u32 = 0o600;

/// The token that an operator must show.
#[derive(Clone)]
pub struct AdminToken(String);

impl AdminToken {
    /// Reads the file's first line. A missing file is created, with a random token that only its owner can read: the user of the
    /// number `owner`, or this process's user.
    ///
    /// # Errors
    /// The file can't be read or created, its token is too short to be a secret, or other users may read it.
    pub fn load(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => Self::read(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(path, owner),
            Err(error) => Err(error),
        }
    }

    fn read(file: File) -> io::Result<Self> {
        if file.metadata()?.mode() & 0o007 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users may open it: run chmod o= first"));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        let token = text.lines().next().unwrap_or_default().trim();
        let is_token = token.len() >= TOKEN_LENGTH_MIN && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("its first line is not a token of {TOKEN_LENGTH_MIN} or more visible ASCII characters"),
            ));
        }
        Ok(Self(token.to_owned()))
    }

    fn make(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        let mut random = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
        file.write_all(token.as_bytes())?;
        file.write_all(b"\n")?;
        if owner.is_some() {
            fchown(&file, owner, None)?;
        }
        Ok(Self(token))
    }

    /// The text of the token, for a client that shows it.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Whether `Authorization` shows the token. The time of the comparison does not tell where the first difference is.
    pub(crate) fn is_shown_by(&self, authorization: &[u8]) -> bool {
        let Some((scheme, shown)) = authorization.split_at_checked(7) else { return false };
        let own = self.0.as_bytes();
        scheme.eq_ignore_ascii_case(b"bearer ")
            && shown.len() == own.len()
            && shown.iter().zip(own).fold(0, |differences, (one, other)| differences | (one ^ other)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn path(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("kasoku-token-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn a_token_is_made_once_and_only_its_owner_reads_it() {
        let path = path("made");
        let made = AdminToken::load(&path, None).unwrap();
        assert_eq!(made.secret().len(), 2 * TOKEN_BYTES);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, MODE);
        assert_eq!(AdminToken::load(&path, None).unwrap().secret(), made.secret());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(
            AdminToken::load(&path, None).map(|_| ()).map_err(|e| e.kind()),
            Err(io::ErrorKind::PermissionDenied)
        );
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_too_short_is_no_secret() {
        let path = path("short");
        for text in ["", "short\n", "\nlong enough but in the second line\n", "with a space in the middle of it\n"] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            assert_eq!(
                AdminToken::load(&path, None).map(|_| ()).map_err(|e| e.kind()),
                Err(io::ErrorKind::InvalidData),
                "{text}"
            );
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = AdminToken("0123456789abcdef".to_owned());
        assert!(token.is_shown_by(b"Bearer 0123456789abcdef"));
        assert!(token.is_shown_by(b"bearer 0123456789abcdef"));
        for other in ["", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdeg", "Basic 0123456789abcdef"] {
            assert!(!token.is_shown_by(other.as_bytes()), "{other}");
        }
    }
}
