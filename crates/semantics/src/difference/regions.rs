//! Divides a page into the parts that decide where two pages may differ: forms, `<meta>`, scripts, and the rest.
//!
//! Where a page may hold a token, no difference is noise. So the reader finds too many such parts rather than too few: it follows
//! the tokenizer of HTML (WHATWG, section 13.2.5) as far as it decides about a part, and where browsers may read a page otherwise,
//! the rest of the page counts as a form ([`PagePart::Sealed`]). A page holds text that visitors have written, and no such text may
//! end a form here that a browser continues.
//!
//! The reader makes one pass and hands each piece to a [`Pieces`]: [`regions`] lists where parts end, and an
//! [`Outline`](super::Outline) takes what it compares.

use super::Markup;
use memchr::{memchr, memmem};
use std::ops::Range;

/// The part of a page to which a place belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PagePart {
    /// Text, and tags whose values no form sends.
    Page,
    /// A `<script>`, or a body that is a script or JSON as a whole.
    Script,
    /// A `<form>`, or an element whose value a form sends.
    Form,
    /// The tag of an element in a form whose value the form does not send, such as a `<div>`.
    FormElement,
    /// A `<meta>`.
    Meta,
    /// The rest of a page from where browsers may read it in several ways.
    Sealed,
}

/// A part, which begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) end: usize,
    pub(super) part: PagePart,
}

/// Elements whose tags hold what a form sends.
const FIELDS: [&[u8]; 6] = [b"input", b"button", b"select", b"option", b"output", b"keygen"];

/// Elements that contain text and no elements.
const RAW: [&[u8]; 6] = [b"style", b"title", b"xmp", b"iframe", b"noembed", b"noframes"];

/// Elements that begin a part. Where one stands in text, the page can be read in two ways.
const BEGINNERS: [&[u8]; 7] = [b"form", b"input", b"button", b"select", b"textarea", b"meta", b"script"];

/// A piece of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) part: PagePart,
    pub(super) kind: PieceKind,
    /// The form around it, which sends its fields in the URL (GET) or not.
    pub(super) form: Option<FormMethod>,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// Text that a reader of the page sees.
    Text,
    /// A whole tag.
    Tag,
    /// A comment, or an instruction.
    Comment,
    /// The content of a script, or a body that is a script.
    Script,
    /// The content of a `<textarea>`, which a form sends.
    FieldText,
}

/// How a form sends its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormMethod {
    /// In the URL.
    Get,
    /// In a request that may change something.
    Post,
}

/// Takes the pieces of a body, in order and without gaps.
pub(super) trait Pieces {
    fn take(&mut self, piece: Piece);
}

impl Pieces for Vec<Region> {
    fn take(&mut self, piece: Piece) {
        match self.last_mut() {
            Some(last) if last.part == piece.part => last.end = piece.end,
            _ => self.push(Region { end: piece.end, part: piece.part }),
        }
    }
}

/// The parts of a body, in order and without gaps.
pub(super) fn regions(body: &[u8], markup: Markup) -> Vec<Region> {
    let mut regions = Vec::new();
    read(body, markup, &mut regions);
    regions
}

/// Hands the pieces of a body to `pieces`.
pub(super) fn read(body: &[u8], markup: Markup, pieces: &mut impl Pieces) {
    let mut reader = Reader { body, markup, at: 0, pieces, form: None, has_noscript: false };
    match markup {
        Markup::Html | Markup::Xml => reader.read(),
        Markup::Script => reader.go_to(body.len(), PagePart::Script, PieceKind::Script),
        Markup::Text => reader.go_to(body.len(), PagePart::Page, PieceKind::Text),
    }
}

struct Reader<'b, 'p, P> {
    body: &'b [u8],
    markup: Markup,
    at: usize,
    pieces: &'p mut P,
    form: Option<OpenForm>,
    has_noscript: bool,
}

/// A form that has begun and not ended.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OpenForm {
    is_in_noscript: bool,
    method: FormMethod,
}

/// The page can be read in several ways from here on.
struct Unsure;

/// A tag, from its `<` to behind its `>`.
struct HtmlTag<'b> {
    name: &'b [u8],
    end: usize,
    is_closing: bool,
    closes_itself: bool,
}

impl HtmlTag<'_> {
    fn is(&self, name: &[u8]) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn is_any(&self, names: &[&[u8]]) -> bool {
        names.iter().any(|name| self.is(name))
    }
}

impl<'b, P: Pieces> Reader<'b, '_, P> {
    fn read(&mut self) {
        while let Some(open) = memchr(b'<', self.rest()).map(|offset| self.at + offset) {
            self.go_to(open, self.usual(), PieceKind::Text);
            if let Err(Unsure) = self.markup_at(open) {
                self.go_to(self.body.len(), PagePart::Sealed, PieceKind::Text);
                return;
            }
        }
        self.go_to(self.body.len(), self.usual(), PieceKind::Text);
    }

    fn rest(&self) -> &'b [u8] {
        self.body.get(self.at..).unwrap_or_default()
    }

    /// The part to which text at the current place belongs.
    fn usual(&self) -> PagePart {
        if self.form.is_some() { PagePart::Form } else { PagePart::Page }
    }

    /// Hands on everything up to `end` as one piece.
    fn go_to(&mut self, end: usize, part: PagePart, kind: PieceKind) {
        if end > self.at {
            let form = self.form.map(|form| form.method);
            self.pieces.take(Piece { start: self.at, end, part, kind, form });
            self.at = end;
        }
    }

    /// Reads to the end of the markup that begins with the `<` at `open`.
    fn markup_at(&mut self, open: usize) -> Result<(), Unsure> {
        let rest = self.rest();
        if rest.starts_with(b"<!--") {
            let length = comment(rest)?;
            self.go_to(open + length, self.usual(), PieceKind::Comment);
        } else if rest.starts_with(b"<![CDATA[") {
            // In a feed, CDATA holds text that readers take for HTML. In HTML, browsers read CDATA as text in one place and as a
            // comment in another.
            if self.markup == Markup::Html {
                return Err(Unsure);
            }
            self.go_to(open + b"<![CDATA[".len(), self.usual(), PieceKind::Comment);
        } else if rest.starts_with(b"<!") || rest.starts_with(b"<?") || rest.starts_with(b"</") && !is_tag(rest) {
            let is_instruction = self.markup == Markup::Xml && rest.starts_with(b"<?");
            let end: &[u8] = if is_instruction { b"?>" } else { b">" };
            let length = memmem::find(rest, end).ok_or(Unsure)? + end.len();
            self.go_to(open + length, self.usual(), PieceKind::Comment);
        } else if is_tag(rest) {
            self.tag_at(open)?;
        } else {
            self.go_to(open + 1, self.usual(), PieceKind::Text);
        }
        Ok(())
    }

    fn tag_at(&mut self, open: usize) -> Result<(), Unsure> {
        let tag = tag(self.body, open).ok_or(Unsure)?;
        if tag.is_closing {
            self.go_to(tag.end, self.usual(), PieceKind::Tag);
            if tag.is(b"form") && self.form.is_some_and(|form| form.is_in_noscript || !self.has_noscript) {
                self.form = None;
            } else if tag.is(b"noscript") {
                // A browser that runs scripts has read all of the `<noscript>` as text.
                self.has_noscript = false;
                self.form = self.form.filter(|form| !form.is_in_noscript);
            }
            return Ok(());
        }
        if tag.is(b"form") {
            let method = method(self.body.get(open..tag.end).unwrap_or_default());
            self.form = self.form.or(Some(OpenForm { is_in_noscript: self.has_noscript, method }));
            self.go_to(tag.end, PagePart::Form, PieceKind::Tag);
        } else if tag.is_any(&FIELDS) {
            self.go_to(tag.end, PagePart::Form, PieceKind::Tag);
        } else if tag.is(b"meta") {
            let part = if self.form.is_some() { PagePart::Form } else { PagePart::Meta };
            self.go_to(tag.end, part, PieceKind::Tag);
        } else if tag.is(b"textarea") {
            let (text, end) = closing(self.body, tag.end, tag.name).ok_or(Unsure)?;
            self.go_to(tag.end, PagePart::Form, PieceKind::Tag);
            self.go_to(text, PagePart::Form, PieceKind::FieldText);
            self.go_to(end, PagePart::Form, PieceKind::Tag);
        } else if tag.is(b"script") {
            self.script(&tag)?;
        } else if tag.is_any(&RAW) {
            self.raw(&tag)?;
        } else if tag.is(b"plaintext") {
            return Err(Unsure);
        } else {
            self.has_noscript |= tag.is(b"noscript");
            let part = if self.form.is_some() { PagePart::FormElement } else { PagePart::Page };
            self.go_to(tag.end, part, PieceKind::Tag);
        }
        Ok(())
    }

    fn script(&mut self, tag: &HtmlTag<'_>) -> Result<(), Unsure> {
        let part = if self.form.is_some() { PagePart::Form } else { PagePart::Script };
        if tag.closes_itself {
            // In XML the tag is the whole element, in HTML it is not.
            if self.markup == Markup::Html {
                return Err(Unsure);
            }
            self.go_to(tag.end, part, PieceKind::Tag);
            return Ok(());
        }
        let (text, end) = closing(self.body, tag.end, b"script").ok_or(Unsure)?;
        let content = self.body.get(tag.end..text).unwrap_or_default();
        // Behind `<!-- <script`, the next `</script>` does not end the script.
        if let Some(comment) = memmem::find(content, b"<!--")
            && has_element(content.get(comment..).unwrap_or_default(), &[b"script"])
        {
            return Err(Unsure);
        }
        self.go_to(tag.end, part, PieceKind::Tag);
        self.go_to(text, part, PieceKind::Script);
        self.go_to(end, part, PieceKind::Tag);
        Ok(())
    }

    /// Reads an element that contains text. Where that text looks like elements, the element may be in an SVG, where browsers do
    /// read elements.
    fn raw(&mut self, tag: &HtmlTag<'_>) -> Result<(), Unsure> {
        if tag.closes_itself && self.markup == Markup::Xml {
            self.go_to(tag.end, self.usual(), PieceKind::Tag);
            return Ok(());
        }
        let (text, end) = closing(self.body, tag.end, tag.name).ok_or(Unsure)?;
        if has_element(self.body.get(tag.end..text).unwrap_or_default(), &BEGINNERS) {
            return Err(Unsure);
        }
        self.go_to(tag.end, self.usual(), PieceKind::Tag);
        self.go_to(text, self.usual(), PieceKind::Text);
        self.go_to(end, self.usual(), PieceKind::Tag);
        Ok(())
    }
}

/// The length of a comment, with its `<!--` and its end.
fn comment(text: &[u8]) -> Result<usize, Unsure> {
    for abrupt in [&b"<!-->"[..], b"<!--->"] {
        if text.starts_with(abrupt) {
            return Ok(abrupt.len());
        }
    }
    let mut at = b"<!--".len();
    while let Some(offset) = memmem::find(text.get(at..).unwrap_or_default(), b"--") {
        at += offset;
        match text.get(at + 2..) {
            Some([b'>', ..]) => return Ok(at + 3),
            // HTML ends the comment here, XML does not.
            Some([b'!', b'>', ..]) => return Err(Unsure),
            _ => at += 1,
        }
    }
    Err(Unsure)
}

/// Whether a tag begins here: `<a`, `</a`.
fn is_tag(text: &[u8]) -> bool {
    let name = text.strip_prefix(b"</").or_else(|| text.strip_prefix(b"<")).unwrap_or_default();
    name.first().is_some_and(u8::is_ascii_alphabetic)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Reads the tag that begins at `open`; `None`: it has no end.
fn tag(body: &[u8], open: usize) -> Option<HtmlTag<'_>> {
    let is_closing = body.get(open + 1) == Some(&b'/');
    let start = open + 1 + usize::from(is_closing);
    let mut at = end_of_name(body, start)?;
    let name = body.get(start..at)?;
    let mut was_slash = false;
    loop {
        match *body.get(at)? {
            b'>' => return Some(HtmlTag { name, end: at + 1, is_closing, closes_itself: was_slash }),
            b'/' => (at, was_slash) = (at + 1, true),
            byte if is_space(byte) => at += 1,
            _ => {
                was_slash = false;
                at = attribute(body, at)?.end;
            }
        }
    }
}

/// An attribute of a tag, by its places in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: Range<usize>,
    /// The value without its quotes.
    pub(super) value: Range<usize>,
    /// Where the attribute ends, with its quotes.
    end: usize,
}

/// Reads the attribute whose name begins at `start`.
fn attribute(body: &[u8], start: usize) -> Option<Attribute> {
    // The name of an attribute may begin with `=`.
    let name_end = first_at(body, start + 1, |byte| is_space(byte) || matches!(byte, b'/' | b'>' | b'='))?;
    let equals = first_at(body, name_end, |byte| !is_space(byte))?;
    if body.get(equals) != Some(&b'=') {
        return Some(Attribute { name: start..name_end, value: name_end..name_end, end: name_end });
    }
    let value = first_at(body, equals + 1, |byte| !is_space(byte))?;
    let (value, end) = match *body.get(value)? {
        quote @ (b'"' | b'\'') => {
            let end = value + 1 + memchr(quote, body.get(value + 1..)?)?;
            (value + 1..end, end + 1)
        }
        _ => {
            let end = first_at(body, value, |byte| is_space(byte) || byte == b'>')?;
            (value..end, end)
        }
    };
    Some(Attribute { name: start..name_end, value, end })
}

fn end_of_name(body: &[u8], start: usize) -> Option<usize> {
    first_at(body, start, |byte| is_space(byte) || matches!(byte, b'/' | b'>'))
}

/// The place of the first byte from `from` on that `is_it` accepts.
fn first_at(body: &[u8], from: usize, is_it: impl Fn(u8) -> bool) -> Option<usize> {
    body.get(from..)?.iter().position(|byte| is_it(*byte)).map(|offset| from + offset)
}

/// The name of the tag that begins at `open`, and its attributes. Empty for a closing tag.
pub(super) fn attributes(body: &[u8], open: usize) -> (&[u8], impl Iterator<Item = Attribute> + '_) {
    let name_end = end_of_name(body, open + 1).unwrap_or(body.len());
    let mut at = name_end;
    let all = std::iter::from_fn(move || {
        loop {
            match *body.get(at)? {
                b'>' => return None,
                byte if byte == b'/' || is_space(byte) => at += 1,
                _ => {
                    let found = attribute(body, at)?;
                    at = found.end;
                    return Some(found);
                }
            }
        }
    });
    (body.get(open + 1..name_end).unwrap_or_default(), all)
}

/// How the form sends its fields whose tag this is.
fn method(tag: &[u8]) -> FormMethod {
    let text = |place: Range<usize>| tag.get(place).unwrap_or_default();
    let mut all = attributes(tag, 0).1;
    let own = all.find(|one| text(one.name.clone()).eq_ignore_ascii_case(b"method"));
    let is_other = own.is_some_and(|own| !text(own.value).trim_ascii().eq_ignore_ascii_case(b"get"));
    if is_other { FormMethod::Post } else { FormMethod::Get }
}

/// Where the content of the text element `name` ends, and where its closing tag does. `from` is the end of its opening tag.
fn closing(body: &[u8], from: usize, name: &[u8]) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        at += memmem::find(body.get(at..)?, b"</")?;
        let behind = body.get(at + 2..)?;
        let is_it = behind.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        let ends = behind.get(name.len()).is_some_and(|byte| is_space(*byte) || matches!(byte, b'/' | b'>'));
        if is_it && ends {
            return tag(body, at).map(|tag| (at, tag.end));
        }
        at += 2;
    }
}

/// Whether a text contains something that reads like the beginning of one of these elements.
fn has_element(text: &[u8], names: &[&[u8]]) -> bool {
    memchr::memchr_iter(b'<', text).any(|open| {
        let behind = text.get(open + 1..).unwrap_or_default();
        names.iter().any(|name| behind.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a page, each with its text.
    fn parts(page: &str, markup: Markup) -> Vec<(PagePart, &str)> {
        let mut start = 0;
        let of = |region: Region| (region.part, &page[std::mem::replace(&mut start, region.end)..region.end]);
        regions(page.as_bytes(), markup).into_iter().map(of).collect()
    }

    #[track_caller]
    fn expect(expected: &[(PagePart, &str)], markup: Markup) {
        let page: String = expected.iter().map(|(_, text)| *text).collect();
        assert_eq!(parts(&page, markup), expected);
    }

    #[track_caller]
    fn html(expected: &[(PagePart, &str)]) {
        expect(expected, Markup::Html);
    }

    use PagePart::{Form, FormElement, Meta, Page, Script, Sealed};

    #[test]
    fn forms_fields_and_metas_are_parts() {
        html(&[]);
        html(&[(Page, "a<b>c")]);
        html(&[(Page, "a"), (Form, "<form>b</form>"), (Page, "c")]);
        html(&[(Form, "<FORM\n>b</Form >"), (Page, "c")]);
        html(&[(Page, "a"), (Form, "<input x>"), (Page, "b<b>")]);
        html(&[(Form, "<form><form></form>"), (Page, "a")]);
        html(&[(Meta, "<meta a=1>"), (Page, "b")]);
        html(&[(Form, "<textarea></form><b></textarea>"), (Page, "b")]);
        html(&[(Form, "<form>a")]);
        html(&[(Page, "<formula>a</form>")]);
        html(&[(Page, "1 < 2 </ 3> 4 <5>")]);
    }

    #[test]
    fn what_stands_in_quotes_comments_and_texts_ends_no_form() {
        for inside in [
            "<!--</form>-->b",
            "<!-->b",
            "<!-- -- > </form> -->b",
            "<title></form></title>b",
            "<script>'</form>'</script>b",
        ] {
            html(&[(Form, &format!("<form>{inside}</form>")), (Page, "c")]);
        }
        for (element, inside) in
            [("<b a='</form>'>", "b"), ("<b a=\"x>\" b=</form>", "b"), ("<noscript>", "</form></noscript>b")]
        {
            html(&[(Form, "<form>"), (FormElement, element), (Form, &format!("{inside}</form>")), (Page, "c")]);
        }
        html(&[(Page, "<noscript>"), (Form, "<form></form>"), (Page, "</noscript>c")]);
        html(&[(Page, "<noscript>"), (Form, "<form></noscript>"), (Page, "c")]);
        html(&[(Page, "<!-- <form> -->c")]);
        html(&[(Page, "<a title='<form>'>c")]);
    }

    #[test]
    fn scripts_end_where_browsers_end_them() {
        html(&[(Script, "<script>a<b</script>"), (Page, "c")]);
        html(&[(Script, "<script>'</scripts>'</SCRIPT >"), (Page, "c")]);
        html(&[(Script, "<script><!--\na\n--></script>"), (Page, "c")]);
        html(&[(Sealed, "<script><!-- <script> </script> --></script>c")]);
        html(&[(Sealed, "<script>a")]);
        html(&[(Sealed, "<script/>a")]);
        expect(&[(Script, "<script/>"), (Page, "a")], Markup::Xml);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_sealed() {
        html(&[(Page, "a<svg>"), (Sealed, "<title/><form>b</form><title></title>")]);
        for rest in [
            "<style><form></style>",
            "<![CDATA[ </form> ]]>",
            "<!-- --!> b --> c",
            "<!-- b",
            "<b c='d>",
            "<plaintext>b",
            "<title>b",
            "<!b",
        ] {
            html(&[(Page, "a"), (Sealed, rest)]);
        }
    }

    #[test]
    fn other_bodies_are_one_part() {
        expect(&[(Page, "<form>")], Markup::Text);
        expect(&[(Script, "{\"a\":1}")], Markup::Script);
        expect(&[(Page, "<?a > ?><![CDATA["), (Form, "<input>"), (Page, "]]>a")], Markup::Xml);
    }

    #[test]
    fn a_page_of_brackets_takes_one_pass() {
        for text in ["<", "</", "<a ", "<!--", "<form ", "<script>", "<!-- --", "<a b=", "<title>", "<input>"] {
            let page = text.repeat((1 << 20) / text.len());
            assert_eq!(regions(page.as_bytes(), Markup::Html).last().map(|region| region.end), Some(page.len()));
        }
    }
}
