"""The blog's 3,000 entries: plausible English, the same on every machine.

An entry is a text file, as in the small weblog programs that keep no database: header lines, an empty line, paragraphs.
The words come from a seeded generator, so nothing has to be downloaded and two runs serve the same pages.
"""

import datetime
import os
import random

COUNT = 3000
SEED = 9111
LAST_DAY = datetime.datetime(2026, 10, 31, 8, 0)

# tag -> what one writes about it: things, places, doings.
TOPICS = {
    "boats": (["the old ferry", "a clinker dinghy", "the pilot boat", "our borrowed skiff", "the dredger"],
              ["in the outer basin", "below the slip", "off the breakwater", "alongside the fish quay"],
              ["caulking a seam", "bending on a new sail", "reading the tide table", "splicing a mooring line"]),
    "bread": (["the rye starter", "a tin loaf", "the seeded rolls", "a slow sourdough", "yesterday's dough"],
              ["on the cool shelf", "in the village oven", "under a damp cloth", "beside the stove"],
              ["folding the dough every half hour", "waiting for the second rise", "scoring the crust", "weighing the salt"]),
    "birds": (["a pair of oystercatchers", "the first swifts", "a late bittern", "the heron", "a flock of knots"],
              ["over the mudflats", "behind the sea wall", "in the reed bed", "on the weather vane"],
              ["counting at first light", "cleaning the field glasses", "keeping the logbook", "listening without looking"]),
    "clocks": (["the station clock", "a bracket clock", "the longcase by the stairs", "a ship's chronometer", "the bell tower's train"],
               ["on the bench", "in the customs house", "above the ticket window", "at the back of the shop"],
               ["regulating the pendulum", "bushing a worn plate", "oiling the escapement", "comparing it with the time signal"]),
    "garden": (["the broad beans", "an espaliered pear", "the compost", "a row of leeks", "the cold frame"],
               ["against the south wall", "by the water butt", "under the old netting", "along the path"],
               ["sowing a second row", "pruning on a dry day", "saving seed", "mulching before the frost"]),
    "letters": (["a postcard from Bergen", "the lighthouse keeper's letters", "a telegram", "an unsigned note", "the parish register"],
                ["in the bottom drawer", "between two atlases", "at the reading room", "under the blotter"],
                ["deciphering the handwriting", "sorting by date", "copying it out fair", "looking up the names"]),
    "maps": (["the harbour chart", "a tithe map", "the railway plan", "an inch-to-the-mile sheet", "the tide atlas"],
             ["in the county archive", "on the long table", "behind glass", "in the chart room"],
             ["tracing the old coastline", "checking the soundings", "walking the boundary", "correcting a place name"]),
    "rain": (["a south-westerly", "the barometer", "three days of drizzle", "a line of squalls", "the gauge on the roof"],
             ["over the estuary", "above the allotments", "along the front", "in the gutters"],
             ["emptying the gauge", "drying the boots", "reading the shipping forecast", "mending the skylight"]),
    "tea": (["a smoky Lapsang", "the chipped brown pot", "a second flush", "the caravan blend", "plain black tea"],
            ["on the back step", "in the signal box", "at the long counter", "after the night watch"],
            ["warming the pot first", "timing it by the window", "pouring for six", "arguing about milk"]),
    "trains": (["the milk train", "a two-car railcar", "the branch line", "the early goods", "the last slam-door carriage"],
               ["at the junction", "across the viaduct", "under the footbridge", "through the cutting"],
               ["noting the numbers", "waiting for the connection", "walking the disused track", "reading the working timetable"]),
    "walks": (["the coast path", "a drovers' road", "the causeway", "the ridge above the mill", "the canal towpath"],
              ["before the turn of the tide", "past the signal station", "through the dunes", "up to the cairn"],
              ["taking the long way home", "stopping at every stile", "carrying too much lunch", "following the old waymarks"]),
    "books": (["a water-stained almanac", "the second volume", "a manual of seamanship", "an index without a book", "the library's only copy"],
              ["on the return trolley", "in the window seat", "at the jumble sale", "next to the radiator"],
              ["cutting the pages", "mending a spine", "reading aloud", "making a catalogue"]),
}

TITLES = ["{Thing}", "On {doing}", "{Thing}, {place}", "A morning with {thing}", "What {thing} taught me", "Notes on {thing}",
          "{Thing}, again", "Once more {place}", "{Doing}, and what came of it", "In praise of {thing}"]

OPENINGS = [
    "I had meant to write about something else this week, but {thing} would not wait.",
    "There is a particular light {place} at this time of year, and {thing} looks its best in it.",
    "Nobody asked me about {thing}, so I shall explain it here instead.",
    "Six years ago I wrote that I would never again spend a Saturday {doing}. I was wrong.",
    "It began, as these things do, with a small noise {place}.",
    "A reader wrote to ask how I came to be {doing}. The honest answer is that it was raining.",
]
MIDDLES = [
    "My neighbour, who has opinions, holds that {thing} should be left alone until spring.",
    "The trick, if there is one, is {doing} before anybody else is awake.",
    "You will find {thing} {place}, provided that you look on a weekday.",
    "I measured it twice and got {number} both times, which proves nothing except that I can repeat a mistake.",
    "For {number} days I did little else than {doing}, and I regret none of them.",
    "What the manuals leave out is how quiet it becomes {place} once you stop talking.",
    "Everything I know about {thing} I learned from a man who would not tell me his name.",
    "{Doing} is slower than it sounds, and better.",
    "In the end {thing} cost me {number} pence and most of an afternoon.",
    "Somebody had been there before me: {thing} had been moved, and put back with care.",
    "The old logbook mentions {thing} {number} times, always in pencil.",
    "We stood {place} for a while and agreed that nothing needed doing.",
]
CLOSINGS = [
    "More next week, if {thing} holds.",
    "I have put it back {place}, where it belongs.",
    "If you know more about {thing} than I do, please write; it would not be difficult.",
    "Tomorrow I shall be {doing} again. You are welcome to bring sandwiches.",
    "The kettle is on. That is all for today.",
    "Photographs will follow when the film is finished, which may be never.",
]


def write_all(directory):
    """Writes entry 1 to COUNT below `directory`, oldest first; a file's modification time is its entry's date."""
    dice = random.Random(SEED)
    tags = sorted(TOPICS)
    for number in range(1, COUNT + 1):
        day = LAST_DAY - datetime.timedelta(hours=27 * (COUNT - number), minutes=dice.randrange(600))
        chosen = dice.sample(tags, k=dice.choice([1, 1, 2, 2, 3]))
        path = os.path.join(directory, f"{number:04}.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Title: {_sentence(dice, dice.choice(TITLES), chosen[:1])}\n")
            file.write(f"Date: {day:%Y-%m-%d %H:%M}\n")
            file.write(f"Tags: {', '.join(sorted(chosen))}\n")
            for paragraph in _paragraphs(dice, chosen):
                file.write(f"\n{paragraph}\n")
        seconds = day.replace(tzinfo=datetime.timezone.utc).timestamp()
        os.utime(path, (seconds, seconds))


def _paragraphs(dice, tags):
    count = dice.randint(3, 6)
    for index in range(count):
        templates = dice.sample(MIDDLES, k=dice.randint(3, 5))
        if index == 0:
            templates.insert(0, dice.choice(OPENINGS))
        if index == count - 1:
            templates.append(dice.choice(CLOSINGS))
        yield " ".join(_sentence(dice, template, tags) for template in templates)


def _sentence(dice, template, tags):
    things, places, doings = TOPICS[dice.choice(tags)]
    thing, place, doing = dice.choice(things), dice.choice(places), dice.choice(doings)
    text = template.format(thing=thing, place=place, doing=doing, number=dice.randint(3, 90),
                           Thing=_capital(thing), Doing=_capital(doing))
    return _capital(text)


def _capital(text):
    return text[:1].upper() + text[1:]
