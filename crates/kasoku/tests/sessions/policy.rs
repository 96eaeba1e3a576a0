//! Writes the configuration of a run for the application's three sites: the right one, and typical wrong ones.

use crate::application::{Application, COUNTER, SESSION, STATUS};
use crate::page::Site;
use std::path::Path;

/// The granted lifetime of pages, their grace, and how long a session is taken for anonymous, in seconds. All are short, so that they
/// expire many times in a run.
const SECONDS: [u64; 3] = [1, 2, 1];

/// A policy: the right one, or one with a mistake of the operator or of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Right,
    /// As [`Policy::Right`], with `set-cookie` in `ignore`, as in many VCLs. This is no mistake.
    IgnoringSetCookie,
    /// The operator has not named the session cookie, and has all other cookies removed.
    ForgettingSessions,
    /// The probe requests a page that does not tell whether the session is anonymous.
    ProbingInVain,
    /// Any value of the application's status cookie counts as anonymous.
    BelievingAnyStatus,
    /// The configuration has no policy, and the application wrongly says `public` on all pages.
    Careless,
}

impl Policy {
    /// The lines of a site.
    fn lines(self, site: Site) -> String {
        if self == Self::Careless {
            return String::new();
        }
        let [ttl, grace, anonymous_for] = SECONDS;
        let (ignore, cookies, sessions) = match self {
            Self::IgnoringSetCookie => (", \"set-cookie\"", "pass", SESSION),
            Self::ForgettingSessions => ("", "remove", "forgotten"),
            _ => ("", "pass", SESSION),
        };
        let by_site = match (site, self) {
            (Site::Probed, Self::ProbingInVain) => "probe = \"/board/0\"",
            (Site::Probed, _) => "probe = \"/probe => 200 nobody\"\nsession.expire-after = \"2s\"",
            (Site::Told, Self::BelievingAnyStatus) => &format!("anonymous-cookies = [\"{STATUS}=*\"]"),
            (Site::Told, _) => &format!("anonymous-cookies = [\"{STATUS}=none\"]"),
            (Site::Plain, _) => "expire-after = \"0s\"",
        };
        format!(
            // The guard is off: each page of this application differs from the one before, and here the checker compares pages.
            "guard = false\nttl-override = \"{ttl}s\"\ngrace = \"{grace}s\"\n\
             ignore = [\"no-store\", \"no-cache\", \"must-revalidate\", \"max-age\", \"expires\"{ignore}]\n\
             cookies.others = \"{cookies}\"\n\
             cookies.noise = [\"default\", \"{COUNTER}\", \"{STATUS}\"]\n\
             cookies.session = [\"{sessions}\"]\n\
             session.anonymous-for = \"{anonymous_for}s\"\n\
             session.logout = [\"/logout\"]\n\
             session.stateful-urls = [\"/open\"]\n\
             session.{by_site}\n\
             pass-urls = [\"/login\", \"/sso/*\", \"/cart\"]\n\
             [[site.rule]]\npath = \"/device/*\"\nkey-device = true\nkey-languages = [\"ko\", \"en\"]\n"
        )
    }

    /// The whole file. Each turn has another `keep`, so that after a reload responses that were stored before are misses.
    pub(crate) fn text(self, application: &Application, pid_file: &Path, turn: usize) -> String {
        let mut text = format!(
            "listen = [\"127.0.0.1:0\"]\nadmin = \"127.0.0.1:0\"\nworkers = 4\npid-file = \"{}\"\n\
             limits.drain-idle-timeout = \"5s\"\nkeep = \"{}s\"\n",
            pid_file.display(),
            10 + turn % 2
        );
        for site in Site::ALL {
            let head =
                format!("\n[[site]]\nhosts = [\"{}\"]\norigin = \"http://{}\"\n", site.host(), application.address);
            text.push_str(&head);
            text.push_str(&self.lines(site));
        }
        text
    }
}
