//! What the program is told of the application, site by site: the configuration of a run, and the ways to get it wrong.

use crate::application::{Application, COUNTER, SESSION, STATUS};
use crate::page::Site;
use std::path::Path;

/// For how long pages are fresh, and stale ones are shown while they are refreshed; and for how long a session is taken for anonymous.
/// Each is short, so that it ends many times in a run.
const SECONDS: [u64; 3] = [1, 2, 1];

/// A policy: what is right, or a mistake of the operator or of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Right,
    /// As right, and `set-cookie` in `ignore`, as many have it in their VCL.
    IgnoringSetCookie,
    /// The session's cookie is forgotten, and cookies that are not named are removed.
    ForgettingSessions,
    /// What asks for a session's state asks a page that says the same to all.
    ProbingInVain,
    /// Whatever the application's cookie says counts as anonymous.
    BelievingAnyStatus,
    /// Nothing: the application itself says of all pages that everybody may share them, and is wrong.
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
            // Each page of this application differs from the one before: what is looked for here is found by reading them.
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

    /// The whole file. With each turn, a rule is another, so that what was stored by the last one is not used any more.
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
