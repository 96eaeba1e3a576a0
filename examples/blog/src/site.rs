//! The blog's public pages: which there are, and by which tags each is purged.

use crate::admin;
use crate::cache::{Failure, Page, PageCache};
use crate::database::Database;
use crate::views;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

#[derive(Clone)]
pub struct Blog {
    pub database: Database,
    pub cache: Arc<PageCache>,
    pub admin_password: Option<Arc<str>>,
}

pub fn routes(database: Database, cache: PageCache, admin_password: Option<String>) -> Router {
    let blog = Blog { database, cache: Arc::new(cache), admin_password: admin_password.map(Into::into) };
    Router::new()
        .route("/", get(first_list))
        .route("/page/{number}", get(list))
        .route("/post/{id}", get(post))
        .route("/tag/{tag}", get(first_tagged))
        .route("/tag/{tag}/page/{number}", get(tagged))
        .route("/about", get(about))
        .route("/admin/post/{id}", get(admin::form).post(admin::save))
        .with_state(blog)
}

/// The tag of the page of a post.
pub fn tag_of_post(id: u32) -> String {
    format!("post-{id}")
}

/// The tag of the lists of all posts.
pub const TAG_OF_LISTS: &str = "lists";

/// The tag of the lists of the posts with this tag.
pub fn tag_of_tagged(tag: &str) -> String {
    format!("tag-{tag}")
}

/// The tags of the page at this path, for a cache that sees the request and not the page. Each edit purges the lists: so their tag is also
/// that of the other pages, and of paths in a spelling that is not understood here.
pub fn tags_of_path(path: &str) -> Vec<String> {
    let mut parts = path.split('/').skip(1);
    let tag = match (parts.next(), parts.next()) {
        (Some("post"), Some(id)) => number(id).ok().map(tag_of_post),
        (Some("tag"), Some(tag)) => is_tag(tag).then(|| tag_of_tagged(tag)),
        _ => None,
    };
    vec![tag.unwrap_or_else(|| TAG_OF_LISTS.to_owned())]
}

type Answer = Result<Response, Refusal>;

async fn about(State(blog): State<Blog>) -> Answer {
    let make = async || {
        let about = blog.database.standing("about").await?.ok_or(Failure::NotFound)?;
        Ok(Page::new(views::standing(&about), []))
    };
    answer(blog.cache.page("/about", make).await)
}

async fn first_list(State(blog): State<Blog>) -> Answer {
    page_of_list(&blog, 1).await
}

async fn list(State(blog): State<Blog>, Path(page): Path<String>) -> Answer {
    page_of_list(&blog, number(&page)?).await
}

async fn page_of_list(blog: &Blog, number: u32) -> Answer {
    let make = async || {
        let list = blog.database.list(number).await?.ok_or(Failure::NotFound)?;
        Ok(Page::new(views::list("Posts", "", &list), [TAG_OF_LISTS.to_owned()]))
    };
    answer(blog.cache.page(&format!("/page/{number}"), make).await)
}

async fn post(State(blog): State<Blog>, Path(id): Path<String>) -> Answer {
    let id = number(&id)?;
    let make = async || {
        let post = blog.database.post(id).await?.ok_or(Failure::NotFound)?;
        let tags = blog.database.tags(id).await?;
        Ok(Page::new(views::post(&post, &tags), [tag_of_post(id)]))
    };
    answer(blog.cache.page(&format!("/post/{id}"), make).await)
}

async fn first_tagged(State(blog): State<Blog>, Path(tag): Path<String>) -> Answer {
    page_of_tag(&blog, &tag, 1).await
}

async fn tagged(State(blog): State<Blog>, Path((tag, page)): Path<(String, String)>) -> Answer {
    page_of_tag(&blog, &tag, number(&page)?).await
}

async fn page_of_tag(blog: &Blog, tag: &str, number: u32) -> Answer {
    if !is_tag(tag) {
        return Err(Refusal(StatusCode::NOT_FOUND));
    }
    let make = async || {
        let list = blog.database.tagged(tag, number).await?.ok_or(Failure::NotFound)?;
        Ok(Page::new(views::list(&format!("#{tag}"), &format!("/tag/{tag}"), &list), [tag_of_tagged(tag)]))
    };
    answer(blog.cache.page(&format!("/tag/{tag}/page/{number}"), make).await)
}

/// A number in an address, which has one spelling. So a page has one address, and a cache that knows addresses alone can purge it.
fn number(text: &str) -> Result<u32, Refusal> {
    let number: u32 = text.parse().map_err(|_| Refusal(StatusCode::NOT_FOUND))?;
    if number.to_string() == text { Ok(number) } else { Err(Refusal(StatusCode::NOT_FOUND)) }
}

/// Tags are short and stand in addresses as they are.
pub fn is_tag(tag: &str) -> bool {
    (1..=40).contains(&tag.len())
        && tag.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn answer(page: Result<Page, Arc<Failure>>) -> Answer {
    let page = page.map_err(|failure| Refusal::from(&*failure))?;
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.html).into_response())
}

/// An answer without a page.
pub struct Refusal(pub StatusCode);

impl From<&Failure> for Refusal {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::NotFound => Self(StatusCode::NOT_FOUND),
            other => {
                eprintln!("{other}");
                Self(StatusCode::SERVICE_UNAVAILABLE)
            }
        }
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::from(&Failure::from(error))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = self.0.canonical_reason().unwrap_or_default();
        (self.0, [(header::CONTENT_TYPE, "text/plain")], text).into_response()
    }
}
