//! Reads secrets, from files that other users can't open: the one that seals items, the password of the servers, and the key of a certificate.

use crate::sealed::SECRET_BYTES_MIN;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The longest secret, in bytes.
const SECRET_BYTES_MAX: usize = 4096;

/// The secret in the file: its content without a final line end.
///
/// # Errors
/// The file can't be read, users besides its owner and group may open it, or the secret is too short or too long.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let secret = read_line(path)?;
    if secret.len() < SECRET_BYTES_MIN {
        return Err(invalid(&format!("a secret has at least {SECRET_BYTES_MIN} bytes, and not {}", secret.len())));
    }
    Ok(secret)
}

/// The password in the file: its content without a final line end. It may be short, since the servers choose it.
///
/// # Errors
/// The file can't be read, users besides its owner and group may open it, or it has no password.
pub fn read_password(path: &Path) -> io::Result<String> {
    let password = String::from_utf8(read_line(path)?).map_err(|_| invalid("a password is UTF-8"))?;
    if password.is_empty() { Err(invalid("there is no password in it")) } else { Ok(password) }
}

/// Opens the file of a secret. Other users must not be able to.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(invalid("it is not a file"));
    }
    if metadata.mode() & 0o007 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users may open it: run chmod o= first"));
    }
    Ok(file)
}

fn read_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut secret = Vec::new();
    // A line end of two bytes may follow, and one byte more shows that it is too long.
    open(path)?.take(SECRET_BYTES_MAX as u64 + 3).read_to_end(&mut secret)?;
    if secret.last() == Some(&b'\n') {
        secret.pop();
        if secret.last() == Some(&b'\r') {
            secret.pop();
        }
    }
    if secret.len() > SECRET_BYTES_MAX {
        return Err(invalid(&format!("it has more than {SECRET_BYTES_MAX} bytes")));
    }
    Ok(secret)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn read_of(content: &[u8], mode: u32) -> Result<Vec<u8>, io::ErrorKind> {
        read_by(read, content, mode)
    }

    fn read_by<T>(read: fn(&Path) -> io::Result<T>, content: &[u8], mode: u32) -> Result<T, io::ErrorKind> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        read(&path).map_err(|error| error.kind())
    }

    #[test]
    fn a_secret_is_the_file_without_its_last_line_end() {
        for content in [&b"0123456789abcdef"[..], b"0123456789abcdef\n", b"0123456789abcdef\r\n"] {
            assert_eq!(read_of(content, 0o640).unwrap(), b"0123456789abcdef");
        }
        assert_eq!(read_of(b"0123456789\nabcde \n\n", 0o600).unwrap(), b"0123456789\nabcde \n");
        assert_eq!(read_of(&[b'x'; SECRET_BYTES_MAX], 0o600).unwrap().len(), SECRET_BYTES_MAX);
    }

    #[test]
    fn a_password_may_be_short_and_is_text() {
        let password = |content: &[u8], mode| read_by(read_password, content, mode);
        assert_eq!(password("geh\u{e9}im\n".as_bytes(), 0o640).as_deref(), Ok("geh\u{e9}im"));
        assert_eq!(password(b"pass", 0o644), Err(io::ErrorKind::PermissionDenied));
        for content in [&b""[..], b"\r\n", b"\xff\n", &[b'x'; SECRET_BYTES_MAX + 1]] {
            assert_eq!(password(content, 0o600), Err(io::ErrorKind::InvalidData), "{} bytes", content.len());
        }
    }

    #[test]
    fn a_secret_that_others_know_or_guess_is_refused() {
        for mode in [0o644, 0o602, 0o601] {
            assert_eq!(read_of(b"0123456789abcdef", mode), Err(io::ErrorKind::PermissionDenied), "{mode:o}");
        }
        for content in [&b""[..], b"\n", b"0123456789abcde\n", &[b'x'; SECRET_BYTES_MAX + 1], &[b'\n'; 1 << 20]] {
            assert_eq!(read_of(content, 0o600), Err(io::ErrorKind::InvalidData), "{} bytes", content.len());
        }
        assert_eq!(read(Path::new("/nonexistent/secret")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(read(Path::new("/")).is_err());
    }
}
