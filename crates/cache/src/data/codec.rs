//! How values become bytes for the shared tier, and bytes values.

use bytes::Bytes;

type Encode<V> = Box<dyn Fn(&V) -> Option<Bytes> + Send + Sync>;
type Decode<V> = Box<dyn Fn(Bytes) -> Option<V> + Send + Sync>;

/// A pair of functions. `None`: the value can't be written, or these bytes are no value.
pub(super) struct Codec<V> {
    pub(super) encode: Encode<V>,
    pub(super) decode: Decode<V>,
}

impl<V> Codec<V> {
    pub(super) fn new(
        encode: impl Fn(&V) -> Option<Bytes> + Send + Sync + 'static,
        decode: impl Fn(Bytes) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        Self { encode: Box::new(encode), decode: Box::new(decode) }
    }
}

impl Codec<Bytes> {
    /// The bytes as they are.
    pub(super) fn bytes() -> Self {
        Self::new(|value| Some(value.clone()), Some)
    }
}

#[cfg(feature = "serde")]
impl<V: serde::Serialize + serde::de::DeserializeOwned> Codec<V> {
    /// As JSON. A form without names, such as postcard's, would take the bytes of another release's type for a value of this one.
    pub(super) fn json() -> Self {
        Self::new(|value| serde_json::to_vec(value).ok().map(Bytes::from), |bytes| serde_json::from_slice(&bytes).ok())
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Post {
        title: String,
        parts: Vec<u8>,
    }

    #[test]
    fn a_value_comes_back_as_json_and_another_shape_is_no_value() {
        let codec = Codec::<Post>::json();
        let post = Post { title: "News".to_owned(), parts: vec![1, 2] };
        let bytes = (codec.encode)(&post).unwrap();
        assert_eq!((codec.decode)(bytes.clone()), Some(post));
        let cut = bytes.slice(..bytes.len() - 1);
        let longer = Bytes::from([&bytes, &b"}"[..]].concat());
        for other in [cut, longer, Bytes::from_static(b"{\"title\":\"News\"}"), Bytes::from_static(b"[]"), Bytes::new()]
        {
            assert_eq!((codec.decode)(other), None);
        }
        let deep = "[".repeat(1 << 20);
        assert_eq!((codec.decode)(Bytes::from(deep)), None);
    }
}
