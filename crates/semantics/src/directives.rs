//! Selects the cache directives of a response that apply to this cache: a targeted field's (RFC 9213), else Cache-Control's,
//! changed by X-Accel-Expires where that is present.

use crate::{Policy, accel_expires};
use kasoku_wire::ResponseHead;
use kasoku_wire::field::cache_control::{CacheControl, DirectiveScope};
use kasoku_wire::field::targeted;

/// The directives of a response that apply to this cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directives {
    /// The directives.
    pub control: CacheControl,
    /// Whether they come from a targeted field; then Expires does not count.
    pub is_targeted: bool,
    /// Whether the lifetime is that of X-Accel-Expires; then Expires does not count either.
    pub is_accel: bool,
}

/// Reads the directives of a response that apply to this cache.
pub fn directives(response: &ResponseHead, policy: &Policy) -> Directives {
    //= RFC 9213 section 2.2
    //# When a cache that implements this specification receives a response with one or more of the header field names
    //# on its target list, the cache MUST select the first (in target-list order) field with a valid, non-empty value
    //# and use its value to determine the caching policy for the response, and it MUST ignore the Cache-Control and
    //# Expires header fields in that response, unless no valid, non-empty value is available from the listed header
    //# fields.
    match targeted::parse(&response.fields, &policy.targeted_fields) {
        Some(control) => Directives { control, is_targeted: true, is_accel: false },
        None => {
            let control = CacheControl::parse(&response.fields);
            let (control, is_accel) = match accel_expires::lifetime(response) {
                Some(lifetime) => (accel_expires::over(control, lifetime), true),
                None => (control, false),
            };
            Directives { control, is_targeted: false, is_accel }
        }
    }
}

/// The name of the field that they come from: the targeted field that counts, or Cache-Control.
pub fn control_field<'p>(response: &ResponseHead, policy: &'p Policy) -> &'p str {
    let counts = |name: &&String| targeted::parse(&response.fields, std::slice::from_ref(name)).is_some();
    policy.targeted_fields.iter().find(counts).map_or("Cache-Control", String::as_str)
}

/// Whether a response with a lifetime of its own says itself that it may be shared: by `s-maxage`, by `public`, or in a field that only shared
/// caches read.
pub fn is_made_public(response: &ResponseHead, policy: &Policy) -> bool {
    let Directives { control, is_targeted, is_accel } = directives(response, policy);
    control.s_maxage.is_some() || control.public || (is_targeted || is_accel) && control.private == DirectiveScope::None
}

impl Directives {
    /// Whether the response is private to one visitor. In profile rfc, `private` with field names is about these fields only (see
    /// [`fields_to_store`](crate::fields_to_store)). In profile safe it counts like `private` alone, unless X-Accel-Expires lifts
    /// it.
    pub(crate) fn is_private(&self, policy: &Policy) -> bool {
        let is_of_fields = self.control.private != DirectiveScope::None;
        self.control.private.is_all() || (policy.is_safe() && !self.is_accel && is_of_fields)
    }

    /// Whether an Expires field counts in `response`.
    pub(crate) fn expires_applies(&self, response: &ResponseHead) -> bool {
        !self.is_targeted && !self.is_accel && response.fields.contains("expires")
    }

    /// Whether the response says itself how long it is fresh.
    pub(crate) fn has_explicit_lifetime(&self, response: &ResponseHead) -> bool {
        self.control.max_age.is_some() || self.control.s_maxage.is_some() || self.expires_applies(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cached, safe};

    #[test]
    fn the_first_valid_targeted_field_replaces_cache_control() {
        //= RFC 9213 section 2.2
        //# When a cache that implements this specification receives a response with one or more of the header field names
        //# on its target list, the cache MUST select the first (in target-list order) field with a valid, non-empty value
        //# and use its value to determine the caching policy for the response, and it MUST ignore the Cache-Control and
        //# Expires header fields in that response, unless no valid, non-empty value is available from the listed header
        //# fields.
        let ours = Policy { targeted_fields: vec!["Ours-Cache-Control".into(), "CDN-Cache-Control".into()], ..safe() };
        let response = cached("max-age=1").with("CDN-Cache-Control", "max-age=2").with("Expires", "0");
        assert_eq!(directives(&response, &ours).control.max_age, Some(2));
        assert!(!directives(&response, &ours).expires_applies(&response));
        let invalid = response.clone().with("Ours-Cache-Control", "max-age=,");
        assert_eq!(directives(&invalid, &ours).control.max_age, Some(2));
        let both = response.clone().with("Ours-Cache-Control", "max-age=3");
        assert_eq!(directives(&both, &ours).control.max_age, Some(3));
        let none = Policy { targeted_fields: Vec::new(), ..safe() };
        assert_eq!(directives(&both, &none).control.max_age, Some(1));
    }
}
