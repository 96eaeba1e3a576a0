//! The form to edit a post. Saving purges by tag: the post, the lists of all posts, and the lists for each tag that the post had or has now.

use crate::site::{Blog, Refusal, TAG_OF_LISTS, is_tag, tag_of_post, tag_of_tagged};
use crate::views;
use axum::Form;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use subtle::ConstantTimeEq;

/// The columns' bounds.
const TITLE_CHARACTERS_MAX: usize = 200;
const TAGS_MAX: usize = 16;

#[derive(Deserialize)]
pub struct Edited {
    title: String,
    body: String,
    tags: String,
}

pub async fn form(State(blog): State<Blog>, Path(id): Path<u32>, headers: HeaderMap) -> Response {
    if !is_admin(&blog, &headers) {
        return challenge();
    }
    let found = async {
        let post = blog.database.post(id).await?.ok_or(Refusal(StatusCode::NOT_FOUND))?;
        let tags = blog.database.tags(id).await?;
        Ok::<_, Refusal>(([(header::CACHE_CONTROL, "no-store")], Html(views::edit(&post, &tags))))
    };
    found.await.into_response()
}

pub async fn save(
    State(blog): State<Blog>,
    Path(id): Path<u32>,
    headers: HeaderMap,
    Form(edited): Form<Edited>,
) -> Response {
    if !is_admin(&blog, &headers) {
        return challenge();
    }
    if is_from_another_site(&headers) {
        return Refusal(StatusCode::FORBIDDEN).into_response();
    }
    let saved = async {
        let (title, body) = (edited.title.trim(), edited.body.replace("\r\n", "\n"));
        let mut tags: Vec<_> = edited.tags.split_whitespace().map(str::to_owned).collect();
        tags.sort();
        tags.dedup();
        let is_valid = !title.is_empty() && title.chars().count() <= TITLE_CHARACTERS_MAX && tags.len() <= TAGS_MAX;
        if !is_valid || !tags.iter().all(|tag| is_tag(tag)) {
            return Err(Refusal(StatusCode::UNPROCESSABLE_ENTITY));
        }
        let before = blog.database.change(id, title, &body, &tags).await?.ok_or(Refusal(StatusCode::NOT_FOUND))?;
        // After the change is committed: a page that is made from here on has it.
        let of_tags = before.iter().chain(&tags).map(|tag| tag_of_tagged(tag));
        let purged: Vec<_> = [tag_of_post(id), TAG_OF_LISTS.to_owned()].into_iter().chain(of_tags).collect();
        blog.cache.purge(&purged).await.map_err(|failure| Refusal::from(&failure))?;
        Ok(Redirect::to(&format!("/post/{id}")))
    };
    saved.await.into_response()
}

/// Whether the request has the password of the user admin. Without a password nobody is.
fn is_admin(blog: &Blog, headers: &HeaderMap) -> bool {
    let Some(password) = &blog.admin_password else { return false };
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Basic ")).and_then(|value| STANDARD.decode(value).ok());
    given.is_some_and(|given| given.ct_eq(format!("admin:{password}").as_bytes()).into())
}

/// Browsers send the password along with a form of any site, and say where the form is from.
fn is_from_another_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin")
}

fn challenge() -> Response {
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=\"blog\"")]).into_response()
}
