//! Compares the looks at a page: of visitor A, visitor B, A again and B again ([`split`](super::split)).
//!
//! Units that all looks have once, in one order, are anchors. What stands between two anchors belongs together: where all looks have the
//! same skeletons there, value is compared with value; where not, units come and go.

use super::hashing::hash_of;
use super::outline::Outline;
use super::page_parts::{Place, Value};
use super::split::{A2, B1, B2, Split, SplitCounts};
use super::{DIFFERENCES_MAX, Difference};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What the looks at a page say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LooksVerdict {
    /// Visitor B has to look once more.
    pub is_undecided: bool,
    /// All places of the page.
    pub places: Vec<FoundPlace>,
    /// What depends on who asks. Empty: nothing.
    pub differences: Vec<Difference>,
    /// What it is: a second comparison finds one of these again, unless it was chance.
    pub things: Vec<u64>,
    /// Units that all looks have come in another order to each visitor. Where two rows tie, they do by chance in one comparison of eight.
    pub has_order: bool,
}

/// What was found of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlace {
    /// The [`key`](super::Place::key) of the place.
    pub key: u64,
    /// Its value, if it is the same in all looks.
    pub value: Option<u64>,
    /// Whether a request sends the value back, by its name.
    pub is_sent_back: bool,
    /// Where a value that is not the same stands.
    pub difference: Option<Difference>,
}

/// Compares three or four looks. `has_cookies`: the first look of a visitor was given cookies, and the second one had them.
pub fn compare(looks: &[Outline<'_>], has_cookies: bool) -> LooksVerdict {
    let mut comparison = LookComparison {
        looks,
        has_cookies,
        verdict: LooksVerdict::default(),
        moved: HashSet::new(),
        unnumbered: HashSet::new(),
        held_back: Vec::new(),
    };
    comparison.units();
    comparison.held_back();
    comparison.verdict.places = comparison.places();
    comparison.verdict
}

/// Compares two looks for certain places alone: what differs may be a token.
pub fn compare_places(one: &Outline<'_>, other: &Outline<'_>, is_meant: impl Fn(u64) -> bool) -> Vec<FoundPlace> {
    let values = |outline: &Outline<'_>, key: u64| {
        let mut values: Vec<u64> =
            outline.places.iter().filter(|place| place.key == key).map(|place| place.value).collect();
        values.sort_unstable();
        values
    };
    keys(&[one])
        .into_iter()
        .filter(|key| is_meant(*key))
        .map(|key| found_place(key, one, other, values(one, key) == values(other, key)))
        .collect()
}

struct LookComparison<'l, 'b> {
    looks: &'l [Outline<'b>],
    has_cookies: bool,
    verdict: LooksVerdict,
    /// Units that all looks have, in other places.
    moved: HashSet<u64>,
    /// Links whose numbers change and do not grow, by skeleton.
    unnumbered: HashSet<u64>,
    /// Units whose values differ, until all of them are known.
    held_back: Vec<HeldBack>,
}

/// Values of a unit that stands where its twin stands in all looks.
struct HeldBack {
    skeleton: u64,
    split: Split,
    /// A link whose number grows from look to look.
    is_numbered_link: bool,
    /// Where the unit stands in each look.
    units: Vec<usize>,
}

/// How many units of a skeleton have to change places before a difference of another one may be chance.
const MOVING_MIN: usize = 2;

/// The most things that are kept of one comparison.
const THINGS_MAX: usize = 64;

/// Things that some of the looks have. While there is no fourth look, it counts as each of those that it may turn out to be.
struct Tally {
    looks: usize,
    as_before: SplitCounts,
    as_other: SplitCounts,
}

impl Tally {
    fn new(looks: usize) -> Self {
        Self { looks, as_before: SplitCounts::default(), as_other: SplitCounts::default() }
    }

    fn add(&mut self, mask: u8) {
        let with = |look: u8| if self.looks < 4 && mask & look != 0 { mask | B2 } else { mask };
        self.as_before.add(with(B1));
        self.as_other.add(with(A2));
    }

    /// What the differences come from; `None`: the fourth look will say.
    fn split(&self) -> Option<Split> {
        let (before, other) = (self.as_before.split(), self.as_other.split());
        if self.looks >= 4 {
            return Some(before);
        }
        match (before, other) {
            (Split::Same, Split::Same) => Some(Split::Same),
            (Split::Visitor, _) | (_, Split::FirstVisit) => None,
            _ => Some(Split::Time),
        }
    }
}

impl LookComparison<'_, '_> {
    /// Compares the text.
    fn units(&mut self) {
        let lengths = || self.looks.iter().map(|look| look.units.len());
        let least = lengths().min().unwrap_or(0);
        let skeleton = |look: usize, unit: usize| self.looks.get(look)?.units.get(unit).map(|unit| unit.skeleton);
        let are_alike = |unit: &dyn Fn(usize) -> Option<usize>| {
            let first = unit(0).and_then(|at| skeleton(0, at));
            (1..self.looks.len()).all(|look| unit(look).and_then(|at| skeleton(look, at)) == first)
        };
        let begin = (0..least).take_while(|at| are_alike(&|_| Some(*at))).count();
        let ends: Vec<usize> = lengths().collect();
        let from_end =
            |back: usize| move |look: usize, ends: &[usize]| ends.get(look).and_then(|end| end.checked_sub(back));
        let tail = (1..=least - begin).take_while(|back| are_alike(&|look| from_end(*back)(look, &ends))).count();
        self.aligned(&vec![0; ends.len()], begin);
        let middle: Vec<Range<usize>> = ends.iter().map(|end| begin..end - tail).collect();
        self.middle(&middle);
        self.aligned(&ends.iter().map(|end| end - tail).collect::<Vec<_>>(), tail);
    }

    /// Compares what is not alike in all looks, between the units that are.
    fn middle(&mut self, ranges: &[Range<usize>]) {
        if ranges.iter().all(|range| range.is_empty()) {
            return;
        }
        let mut all = Things::default();
        for (number, (look, range)) in self.looks.iter().zip(ranges).enumerate() {
            all.add(number, look.units.get(range.clone()).unwrap_or_default().iter().map(|unit| unit.skeleton));
        }
        self.order(&all, ranges);
        self.moved = all.in_all(self.looks.len());
        let mut from: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        for anchor in anchors(self.looks, ranges) {
            let gap: Vec<Range<usize>> = from.iter().zip(&anchor).map(|(from, to)| *from..*to).collect();
            self.gap(&gap);
            self.aligned(&anchor, 1);
            from = anchor.iter().map(|at| at + 1).collect();
        }
        let rest: Vec<Range<usize>> = from.iter().zip(ranges).map(|(from, range)| *from..range.end).collect();
        self.gap(&rest);
    }

    /// Compares the order of the units that all looks have.
    fn order(&mut self, all: &Things, ranges: &[Range<usize>]) {
        let moved = all.in_all(self.looks.len());
        let orders = self.looks.iter().zip(ranges).map(|(look, range)| {
            let units = look.units.get(range.clone()).unwrap_or_default().iter();
            let order: Vec<u64> = units.map(|unit| unit.skeleton).filter(|unit| moved.contains(unit)).collect();
            Some(Value::Word(hash_of(&order)))
        });
        let split = split_of(&orders.collect::<Vec<_>>());
        let starts: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        self.verdict.has_order = match split {
            Some(Split::Visitor) => true,
            Some(Split::FirstVisit) => !self.has_cookies,
            _ => false,
        };
        self.judge(split, Vec::new(), |own: &Self, look: usize, _| {
            own.looks.get(look)?.units.get(*starts.get(look)?).map(|unit| unit.at)
        });
    }

    /// Compares the units between two anchors.
    fn gap(&mut self, ranges: &[Range<usize>]) {
        let units = |look: usize| {
            let range = ranges.get(look).cloned().unwrap_or_default();
            self.looks.get(look).and_then(|look| look.units.get(range)).unwrap_or_default()
        };
        let (first, count) = (units(0), self.looks.len());
        let is_alike = |look| {
            let other = units(look);
            other.len() == first.len() && other.iter().zip(first).all(|(one, other)| one.skeleton == other.skeleton)
        };
        if (1..count).all(is_alike) {
            let starts: Vec<usize> = ranges.iter().map(|range| range.start).collect();
            let length = first.len();
            return self.aligned(&starts, length);
        }
        let mut things = Things::default();
        for look in 0..count {
            // What only moves is compared by its order.
            let others = units(look).iter().map(|unit| unit.skeleton).filter(|unit| !self.moved.contains(unit));
            things.add(look, others);
        }
        let split = things.tally(count).split();
        // Which things are held by one visitor, or were held on first visits.
        let is_held = |mask: u8| matches!(mask, 0b0101 | 0b1010 | 0b0011 | 0b1100);
        let held =
            things.masks.iter().filter(|(_, mask)| is_held(**mask)).map(|((thing, _), mask)| hash_of(&(thing, mask)));
        self.judge(split, held.take(THINGS_MAX).collect(), |own: &Self, look: usize, other: usize| {
            let range = ranges.get(look)?.clone();
            let mask = (1_u8 << look) | (1_u8 << other);
            let own_units = own.looks.get(look)?.units.get(range.clone())?;
            // The first unit that this look has and the other has not.
            let is_own = |skeleton: u64| things.masks.get(&(skeleton, 0)).is_some_and(|seen| seen & mask == 1 << look);
            let at = own_units.iter().find(|unit| is_own(unit.skeleton)).or(own_units.first());
            at.map(|unit| unit.at).or_else(|| own.looks.get(look)?.units.get(range.start).map(|unit| unit.at))
        });
    }

    /// Compares the values of `length` units that have the same skeletons in all looks.
    fn aligned(&mut self, starts: &[usize], length: usize) {
        for offset in 0..length {
            let values = |look: usize| {
                let unit = starts.get(look).map_or(0, |start| start + offset);
                self.looks.get(look).map(|look| look.values(unit)).unwrap_or_default()
            };
            let (first, count) = (values(0), self.looks.len());
            if (1..count).all(|look| values(look) == first) {
                continue;
            }
            let skeleton =
                self.looks.first().zip(starts.first()).and_then(|(look, start)| look.units.get(start + offset));
            let skeleton = skeleton.map(|unit| unit.skeleton).unwrap_or_default();
            let mut split = Some(Split::Same);
            for at in 0..first.len() {
                let all: Vec<Option<Value>> = (0..count).map(|look| values(look).get(at).copied()).collect();
                split = worse(split, split_of(&all));
            }
            let is_link = || {
                let unit = self.looks.first()?.units.get(starts.first()? + offset)?;
                self.looks.first().map(|look| look.is_link_at(unit.at))
            };
            let mut is_numbered_link = false;
            if split == Some(Split::Time) && is_link() == Some(true) {
                if (0..first.len()).any(|at| is_numbered(&|look| values(look).get(at).copied(), count)) {
                    (split, is_numbered_link) = (Some(Split::Visitor), true);
                } else {
                    self.unnumbered.insert(skeleton);
                }
            }
            if (1..count).any(|look| values(look).len() != first.len()) && split == Some(Split::Same) {
                split = Some(Split::Time);
            }
            match split {
                None | Some(Split::Same) => self.judge(split, Vec::new(), |_: &Self, _, _| None),
                Some(split) => {
                    let units = starts.iter().map(|start| start + offset).collect();
                    self.held_back.push(HeldBack { skeleton, split, is_numbered_link, units });
                }
            }
        }
    }

    /// Judges units whose values differ. Rows that tie come in any order: then values that all looks have somewhere change places, and some
    /// are in both looks of B by chance.
    fn held_back(&mut self) {
        let (time, visitors): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.held_back).into_iter().partition(|one| one.split == Split::Time);
        let skeletons: HashSet<u64> = visitors.iter().map(|one| one.skeleton).collect();
        let pool = self.pool(&skeletons);
        // For each skeleton, how many units change places, and how many may be a visitor's.
        let mut counts: HashMap<u64, (usize, usize)> = HashMap::new();
        for one in time.iter().filter(|one| skeletons.contains(&one.skeleton) && self.is_drawn_from(&pool, one)) {
            counts.entry(one.skeleton).or_default().0 += 1;
        }
        visitors.iter().for_each(|one| counts.entry(one.skeleton).or_default().1 += 1);
        for one in visitors {
            let (moving, own) = counts.get(&one.skeleton).copied().unwrap_or_default();
            let is_by_chance = moving >= own.max(MOVING_MIN) && self.is_drawn_from(&pool, &one);
            if is_by_chance || one.is_numbered_link && self.unnumbered.contains(&one.skeleton) {
                continue;
            }
            self.judge(Some(one.split), vec![one.skeleton], |own: &Self, look: usize, _| {
                own.looks.get(look)?.units.get(*one.units.get(look)?).map(|unit| unit.at)
            });
        }
    }

    /// The looks that have a value anywhere, by the skeleton of its unit, its place in the unit, and the value.
    fn pool(&self, skeletons: &HashSet<u64>) -> HashMap<(u64, usize, Value), u8> {
        let mut pool = HashMap::new();
        if skeletons.is_empty() {
            return pool;
        }
        for (number, look) in self.looks.iter().enumerate() {
            for (at, unit) in look.units.iter().enumerate().filter(|(_, unit)| skeletons.contains(&unit.skeleton)) {
                for (place, value) in look.values(at).iter().enumerate() {
                    *pool.entry((unit.skeleton, place, *value)).or_default() |= 1 << number;
                }
            }
        }
        pool
    }

    /// Whether each value of a unit stands in all looks, in one unit of its skeleton or another.
    fn is_drawn_from(&self, pool: &HashMap<(u64, usize, Value), u8>, one: &HeldBack) -> bool {
        let all = (1_u8 << self.looks.len()) - 1;
        self.looks.iter().zip(&one.units).all(|(look, unit)| {
            let mut values = look.values(*unit).iter().enumerate();
            values.all(|(place, value)| pool.get(&(one.skeleton, place, *value)) == Some(&all))
        })
    }

    /// Notes a difference if it is a visitor's. `things`: what differs. `at`: where a look has what the other look, the second argument, has not.
    fn judge(&mut self, split: Option<Split>, things: Vec<u64>, at: impl Fn(&Self, usize, usize) -> Option<usize>) {
        let (one, other) = match split {
            None => {
                self.verdict.is_undecided = true;
                return;
            }
            Some(Split::Visitor) => (0, 1),
            // A cookie that the first look was given may tell the application of the second.
            Some(Split::FirstVisit) if !self.has_cookies => (0, 2),
            Some(_) => return,
        };
        let room = THINGS_MAX.saturating_sub(self.verdict.things.len());
        self.verdict.things.extend(things.into_iter().take(room));
        if self.verdict.differences.len() >= DIFFERENCES_MAX {
            return;
        }
        let shown = |look: usize, other: usize| {
            let outline = self.looks.get(look)?;
            Some(at(self, look, other).map_or_else(|| (outline.shown(0).0, String::new()), |at| outline.shown(at)))
        };
        if let (Some((place, anonymous)), Some((_, visitors))) = (shown(one, other), shown(other, one)) {
            self.verdict.differences.push(Difference { place, anonymous, visitors });
        }
    }

    /// Compares the places.
    fn places(&mut self) -> Vec<FoundPlace> {
        let looks: Vec<&Outline<'_>> = self.looks.iter().collect();
        let mut by_key: HashMap<u64, Things<u64>> = HashMap::new();
        for (look, outline) in self.looks.iter().enumerate() {
            for place in &outline.places {
                by_key.entry(place.key).or_default().add(look, [place.value]);
            }
        }
        let mut all = Vec::with_capacity(by_key.len());
        for key in keys(&looks) {
            let Some(things) = by_key.get(&key) else { continue };
            match things.tally(looks.len()).split() {
                Some(Split::Same) => all.extend(looks.first().map(|one| found_place(key, one, one, true))),
                Some(_) => {
                    let other = looks.iter().find(|look| !things.is_same_as_first(look, key)).or(looks.first());
                    all.extend(looks.first().zip(other).map(|(one, other)| found_place(key, one, other, false)));
                }
                None => self.verdict.is_undecided = true,
            }
        }
        all
    }
}

/// Things by what they are and how many like them came before, each with the looks that have it.
#[derive(Default)]
struct Things<T = u64> {
    masks: HashMap<(T, u32), u8>,
    seen: HashMap<(T, usize), u32>,
}

impl Things<u64> {
    fn add(&mut self, look: usize, things: impl IntoIterator<Item = u64>) {
        for thing in things {
            let seen = self.seen.entry((thing, look)).or_default();
            *self.masks.entry((thing, *seen)).or_default() |= 1 << look;
            *seen += 1;
        }
    }

    /// The things that all looks have, as often.
    fn in_all(&self, looks: usize) -> HashSet<u64> {
        let all = (1_u8 << looks) - 1;
        let others: HashSet<u64> =
            self.masks.iter().filter(|(_, mask)| **mask != all).map(|((thing, _), _)| *thing).collect();
        self.masks.keys().map(|(thing, _)| *thing).filter(|thing| !others.contains(thing)).collect()
    }

    fn tally(&self, looks: usize) -> Tally {
        let mut tally = Tally::new(looks);
        self.masks.values().for_each(|mask| tally.add(*mask));
        tally
    }

    /// Whether each value that this look has at the place is one of the first look.
    fn is_same_as_first(&self, look: &Outline<'_>, key: u64) -> bool {
        let mut own = look.places.iter().filter(|place| place.key == key).peekable();
        own.peek().is_some() && own.all(|place| self.masks.get(&(place.value, 0)).is_some_and(|mask| mask & 1 == 1))
    }
}

/// What the difference between one value in each look comes from.
fn split_of(values: &[Option<Value>]) -> Option<Split> {
    let mut things: Vec<Option<Value>> = values.to_vec();
    things.sort_unstable();
    things.dedup();
    let mut tally = Tally::new(values.len());
    for thing in things {
        tally.add(values.iter().enumerate().filter(|(_, value)| **value == thing).map(|(look, _)| 1_u8 << look).sum());
    }
    let split = tally.split();
    // A clock that has gone on and a counter that has grown between the first looks and the second ones.
    let has_grown = match values {
        [Some(Value::Number(first)), _, Some(Value::Number(second)), ..] => second > first,
        _ => false,
    };
    let may_be_first = split == Some(Split::FirstVisit) || split.is_none() && values.first() == values.get(1);
    if may_be_first && has_grown { Some(Split::Time) } else { split }
}

/// Whether a number grows from look to look, and is no clock: a link of one use has it.
fn is_numbered(value: &dyn Fn(usize) -> Option<Value>, looks: usize) -> bool {
    let number = |look: usize| match value(look) {
        Some(Value::Number(number)) if number < CLOCK_MIN => Some(number),
        _ => None,
    };
    (1..looks).all(|look| matches!((number(look - 1), number(look)), (Some(before), Some(now)) if before < now))
}

/// Numbers from here on are clocks: seconds since 1970.
const CLOCK_MIN: u64 = 1_000_000_000;

/// The split that says more against sharing.
fn worse(one: Option<Split>, other: Option<Split>) -> Option<Split> {
    let rank = |split: Option<Split>| match split {
        Some(Split::Same) => 0,
        Some(Split::Time) => 1,
        None => 2,
        Some(Split::FirstVisit) => 3,
        Some(Split::Visitor) => 4,
    };
    if rank(other) > rank(one) { other } else { one }
}

/// The keys of all places, each once, in their order.
fn keys(looks: &[&Outline<'_>]) -> Vec<u64> {
    let mut keys: Vec<u64> = looks.iter().flat_map(|look| look.places.iter().map(|place| place.key)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What is known of a place after a comparison.
fn found_place(key: u64, one: &Outline<'_>, other: &Outline<'_>, is_same: bool) -> FoundPlace {
    let of = |look: &Outline<'_>, is_other: &dyn Fn(u64) -> bool| {
        let mut own = look.places.iter().filter(|place| place.key == key);
        let first = own.clone().next();
        own.find(|place| is_other(place.value)).or(first).copied()
    };
    let lacks =
        |look: &Outline<'_>, value: u64| !look.places.iter().any(|place| place.key == key && place.value == value);
    let (own, others) = (of(one, &|value| lacks(other, value)), of(other, &|value| lacks(one, value)));
    let shown =
        |look: &Outline<'_>, place: Option<Place>| place.map(|place| look.shown_place(&place)).unwrap_or_default();
    let place = own.or(others);
    let difference = place.filter(|_| !is_same).map(|place| Difference {
        place: place.place,
        anonymous: shown(one, own),
        visitors: shown(other, others),
    });
    FoundPlace {
        key,
        value: own.filter(|_| is_same).map(|place| place.value),
        is_sent_back: place.is_some_and(|place| place.is_sent_back),
        difference,
    }
}

/// Units that each look has exactly once within its range, in one order in all looks; for each the index in each look.
fn anchors(looks: &[Outline<'_>], ranges: &[Range<usize>]) -> Vec<Vec<usize>> {
    let mut once: HashMap<u64, Option<Vec<usize>>> = HashMap::new();
    for (number, (look, range)) in looks.iter().zip(ranges).enumerate() {
        let units = look.units.get(range.clone()).unwrap_or_default();
        for (unit, at) in units.iter().zip(range.clone()) {
            let places = once.entry(unit.skeleton).or_insert_with(|| Some(Vec::with_capacity(looks.len())));
            match places {
                Some(all) if all.len() == number => all.push(at),
                other => *other = None,
            }
        }
    }
    let mut all: Vec<Vec<usize>> = once.into_values().flatten().filter(|places| places.len() == looks.len()).collect();
    all.sort_unstable();
    for look in 1..looks.len() {
        all = increasing(all, look);
    }
    all
}

/// The longest subsequence whose places in a look increase.
fn increasing(all: Vec<Vec<usize>>, look: usize) -> Vec<Vec<usize>> {
    let at = |number: usize| all.get(number).and_then(|places| places.get(look)).copied().unwrap_or(0);
    // The last one of the best subsequence of each length, and the one before each.
    let (mut ends, mut before) = (Vec::<usize>::new(), vec![None; all.len()]);
    for number in 0..all.len() {
        let length = ends.partition_point(|end| at(*end) < at(number));
        if let Some(place) = before.get_mut(number) {
            *place = length.checked_sub(1).and_then(|length| ends.get(length)).copied();
        }
        match ends.get_mut(length) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    let mut kept = vec![false; all.len()];
    let mut next = ends.last().copied();
    while let Some(number) = next {
        if let Some(place) = kept.get_mut(number) {
            *place = true;
        }
        next = before.get(number).copied().flatten();
    }
    all.into_iter().zip(kept).filter_map(|(places, is_kept)| is_kept.then_some(places)).collect()
}
