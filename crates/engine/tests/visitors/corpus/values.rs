//! The values that a page's places get: random ones of several kinds, the clock in several languages, and filler.

use fastrand::Rng;
use std::hash::{DefaultHasher, Hash, Hasher};

const LOWER: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
const BASE64URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A random value: `hex 32`, `base64url 43`, `uuid`.
pub(crate) fn random(rng: &mut Rng, kind: &str, length: usize) -> String {
    if kind == "uuid" {
        let hex = random(rng, "hex", 32);
        return format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]);
    }
    let base64 = BASE64URL.replace('-', "+").replace('_', "/");
    let letters = match kind {
        "digits" => &LOWER[..10],
        "hex" => &LOWER[..16],
        "HEX" => "0123456789ABCDEF",
        "lower" => LOWER,
        "alnum" => &BASE64URL[..62],
        "base64" => &base64,
        "base64url" => BASE64URL,
        other => panic!("no such kind of value: {other}"),
    };
    let letters: Vec<char> = letters.chars().collect();
    // A number begins with no zero, so that its length stays.
    let first = if kind == "digits" { rng.usize(1..10) } else { rng.usize(..letters.len()) };
    let rest = (1..length).map(|_| letters[rng.usize(..letters.len())]);
    std::iter::once(letters[first]).chain(rest).collect()
}

/// The source of values that depend on nothing but `what`.
pub(crate) fn seeded(what: impl Hash) -> Rng {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    Rng::with_seed(hasher.finish())
}

/// The time in a format of strftime, of which the corpus needs some letters.
pub(crate) fn clock(unix_seconds: i64, language: &str, format: &str) -> String {
    let (days, second) = (unix_seconds.div_euclid(86_400), unix_seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (months, weekdays) = names(language);
    let hour = second / 3600;
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let month_name = months.split(' ').nth(month as usize - 1).unwrap();
        let weekday = weekdays.split(' ').nth((days + 4).rem_euclid(7) as usize).unwrap();
        let short = |name: &str| name.chars().take(3).collect::<String>();
        text += &match letters.next().unwrap() {
            'Y' => format!("{year}"),
            'm' => format!("{month:02}"),
            'd' => format!("{day:02}"),
            'e' => format!("{day:2}"),
            'H' => format!("{hour:02}"),
            'I' => format!("{:02}", (hour + 11) % 12 + 1),
            'M' => format!("{:02}", second / 60 % 60),
            'S' => format!("{:02}", second % 60),
            'p' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            'B' => month_name.to_owned(),
            'b' => short(month_name),
            'A' => weekday.to_owned(),
            'a' => short(weekday),
            other => panic!("the clock does not know %{other}"),
        };
    }
    text
}

fn names(language: &str) -> (&'static str, &'static str) {
    match language {
        "de" => (
            "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
            "Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
        ),
        "es" => (
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
            "domingo lunes martes miércoles jueves viernes sábado",
        ),
        _ => (
            "January February March April May June July August September October November December",
            "Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
        ),
    }
}

/// Year, month and day of a day since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

/// So many sentences, always the same.
pub(crate) fn sentences(count: usize, first: usize) -> String {
    const ALL: [&str; 12] = [
        "The tide goes out twice a day and leaves the same pools between the same stones.",
        "Most of the work was done by hand, in two winters, with tools that the village already had.",
        "Nobody remembers who drew the first plan.",
        "A second copy is kept in the cellar of the town hall, next to the maps.",
        "It takes about three hours on foot, and less than one by bicycle if the wind is kind.",
        "The older part has walls of brick; the newer one is made of timber.",
        "Visitors are asked to leave the gates as they find them.",
        "Prices include delivery within the country.",
        "In 1931 the line was moved to the north, where the ground is firmer.",
        "The recipe needs flour, water, salt and patience.",
        "What looks like a crack in the glaze is a repair from the last century.",
        "Two of the seven bells are original.",
    ];
    (0..count).map(|number| ALL[(first + number) % ALL.len()]).collect::<Vec<_>>().join(" ")
}
