//! What the blog asks its database.

use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::{Executor, FromRow, MySqlPool};
use std::str::FromStr;
use std::time::Duration;

/// Posts on one page of a list.
pub const POSTS_ON_A_PAGE: u32 = 20;

/// The length of an excerpt, in characters.
const EXCERPT_CHARACTERS: u32 = 200;

const CONNECTIONS_MAX: u32 = 16;
const WAIT_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, FromRow)]
pub struct Post {
    pub id: u32,
    pub title: String,
    pub body: String,
    pub written: String,
}

/// A page that is no post.
#[derive(Clone, Debug, FromRow)]
pub struct Standing {
    pub title: String,
    pub body: String,
}

/// A post in a list.
#[derive(Clone, Debug, FromRow)]
pub struct Excerpt {
    pub id: u32,
    pub title: String,
    pub excerpt: String,
    pub written: String,
    pub tags: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct List {
    pub posts: Vec<Excerpt>,
    pub number: u32,
    pub pages: u32,
}

#[derive(Clone)]
pub struct Database(pub MySqlPool);

impl Database {
    /// Connects. `uses_query_cache`: MariaDB's query cache answers where it can, if the server has one.
    pub async fn connect(url: &str, uses_query_cache: bool) -> Result<Self, sqlx::Error> {
        let set =
            if uses_query_cache { "SET SESSION query_cache_type = ON" } else { "SET SESSION query_cache_type = OFF" };
        let pool = MySqlPoolOptions::new().max_connections(CONNECTIONS_MAX).acquire_timeout(WAIT_MAX).after_connect(
            move |connection, _| {
                Box::pin(async move {
                    // A server that was started without a query cache refuses to switch it on for a session.
                    let done = connection.execute(set).await;
                    if uses_query_cache { done.map(drop) } else { Ok(()) }
                })
            },
        );
        Ok(Self(pool.connect_with(MySqlConnectOptions::from_str(url)?).await?))
    }

    pub async fn standing(&self, name: &str) -> Result<Option<Standing>, sqlx::Error> {
        let page = "SELECT title, body FROM pages WHERE name = ?";
        sqlx::query_as(page).bind(name).fetch_optional(&self.0).await
    }

    pub async fn post(&self, id: u32) -> Result<Option<Post>, sqlx::Error> {
        let post = "SELECT id, title, body, CAST(written AS CHAR) AS written FROM posts WHERE id = ?";
        sqlx::query_as(post).bind(id).fetch_optional(&self.0).await
    }

    pub async fn tags(&self, id: u32) -> Result<Vec<String>, sqlx::Error> {
        sqlx::query_scalar("SELECT tag FROM post_tags WHERE post = ? ORDER BY tag").bind(id).fetch_all(&self.0).await
    }

    /// A page of all posts, the latest first. `None` where there is no such page.
    pub async fn list(&self, number: u32) -> Result<Option<List>, sqlx::Error> {
        let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM posts").fetch_one(&self.0).await?;
        let Some((pages, offset)) = page_of(count, number) else { return Ok(None) };
        let select = "SELECT id, title, LEFT(body, ?) AS excerpt, CAST(written AS CHAR) AS written,
                (SELECT GROUP_CONCAT(tag ORDER BY tag) FROM post_tags WHERE post = id) AS tags
            FROM posts ORDER BY written DESC, id DESC LIMIT ? OFFSET ?";
        let query = sqlx::query_as(select).bind(EXCERPT_CHARACTERS).bind(POSTS_ON_A_PAGE).bind(offset);
        Ok(Some(List { posts: query.fetch_all(&self.0).await?, number, pages }))
    }

    /// A page of the posts with a tag, the latest first. `None` where there is no such page.
    pub async fn tagged(&self, tag: &str, number: u32) -> Result<Option<List>, sqlx::Error> {
        let count = sqlx::query_scalar("SELECT COUNT(*) FROM post_tags WHERE tag = ?").bind(tag);
        let count: i64 = count.fetch_one(&self.0).await?;
        let Some((pages, offset)) = page_of(count, number) else { return Ok(None) };
        let select = "SELECT id, title, LEFT(body, ?) AS excerpt, CAST(written AS CHAR) AS written,
                (SELECT GROUP_CONCAT(tag ORDER BY tag) FROM post_tags WHERE post = id) AS tags
            FROM posts JOIN post_tags AS by_tag ON by_tag.post = id
            WHERE by_tag.tag = ? ORDER BY written DESC, id DESC LIMIT ? OFFSET ?";
        let query = sqlx::query_as(select).bind(EXCERPT_CHARACTERS).bind(tag).bind(POSTS_ON_A_PAGE).bind(offset);
        Ok(Some(List { posts: query.fetch_all(&self.0).await?, number, pages }))
    }

    /// Changes a post. Returns the tags that it had before, or `None` where there is no such post.
    pub async fn change(
        &self,
        id: u32,
        title: &str,
        body: &str,
        tags: &[String],
    ) -> Result<Option<Vec<String>>, sqlx::Error> {
        let mut transaction = self.0.begin().await?;
        let locked: Option<u32> = sqlx::query_scalar("SELECT id FROM posts WHERE id = ? FOR UPDATE")
            .bind(id)
            .fetch_optional(&mut *transaction)
            .await?;
        if locked.is_none() {
            return Ok(None);
        }
        let before = sqlx::query_scalar("SELECT tag FROM post_tags WHERE post = ?").bind(id);
        let before = before.fetch_all(&mut *transaction).await?;
        let update = sqlx::query("UPDATE posts SET title = ?, body = ? WHERE id = ?").bind(title).bind(body).bind(id);
        update.execute(&mut *transaction).await?;
        sqlx::query("DELETE FROM post_tags WHERE post = ?").bind(id).execute(&mut *transaction).await?;
        for tag in tags {
            let insert = sqlx::query("INSERT INTO post_tags (post, tag) VALUES (?, ?)").bind(id).bind(tag);
            insert.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(Some(before))
    }
}

/// The number of pages, and how many posts stand before this one. `None` where there is no such page.
fn page_of(count: i64, number: u32) -> Option<(u32, u32)> {
    let pages = u32::try_from(count).unwrap_or(u32::MAX).div_ceil(POSTS_ON_A_PAGE);
    (1..=pages).contains(&number).then(|| (pages, (number - 1) * POSTS_ON_A_PAGE))
}
