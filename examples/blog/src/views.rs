//! The blog's pages as HTML. A page depends on nothing but its arguments, so it has the same bytes from each cache.

use crate::database::{List, Post, Standing};
use maud::{DOCTYPE, Markup, html};

fn page(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) }
                style { "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1.1rem/1.6 serif}nav a{margin-right:1rem}time{color:#666}" }
            }
            body {
                nav { a href="/" { "Posts" } a href="/about" { "About" } }
                (content)
            }
        }
    };
    page.into_string()
}

pub fn standing(standing: &Standing) -> String {
    page(
        &standing.title,
        &html! {
            h1 { (standing.title) }
            @for paragraph in standing.body.split("\n\n") { p { (paragraph) } }
        },
    )
}

/// A page of a list. `path` is the list's address: its pages are at `path` and `path/page/2` and so on.
pub fn list(title: &str, path: &str, list: &List) -> String {
    page(
        title,
        &html! {
            h1 { (title) }
            @for post in &list.posts {
                article {
                    h2 { a href={ "/post/" (post.id) } { (post.title) } }
                    time { (post.written) }
                    p { (post.excerpt) "…" }
                    @if let Some(tags) = &post.tags { (links(tags.split(','))) }
                }
            }
            nav {
                @if list.number > 1 { a href={ (path) "/page/" (list.number - 1) } { "Newer" } }
                @if list.number < list.pages { a href={ (path) "/page/" (list.number + 1) } { "Older" } }
                (list.number) " of " (list.pages)
            }
        },
    )
}

pub fn post(post: &Post, tags: &[String]) -> String {
    page(
        &post.title,
        &html! {
            article {
                h1 { (post.title) }
                time { (post.written) }
                @for paragraph in post.body.split("\n\n") { p { (paragraph) } }
                (links(tags.iter().map(String::as_str)))
            }
        },
    )
}

fn links<'t>(tags: impl Iterator<Item = &'t str>) -> Markup {
    html! {
        p { @for tag in tags { a href={ "/tag/" (tag) } { "#" (tag) } " " } }
    }
}

/// The form with which a post is changed.
pub fn edit(post: &Post, tags: &[String]) -> String {
    page(
        &post.title,
        &html! {
            h1 { "Edit post " (post.id) }
            form method="post" {
                p { label { "Title " input name="title" value=(post.title) maxlength="200" required; } }
                p { label { "Tags " input name="tags" value=(tags.join(" ")); } }
                p { textarea name="body" rows="20" cols="80" { (post.body) } }
                button { "Save" }
            }
        },
    )
}
