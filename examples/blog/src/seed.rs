//! Writes the same posts each time: 5,000 of them, of two to ten kilobytes, with one to three of 40 tags each, and a page about the blog.

use crate::database::Database;
use sqlx::{Executor, MySql, QueryBuilder};

const SCHEMA: &str = include_str!("../schema.sql");

const TAGS: u32 = 40;

const ABOUT_PARAGRAPHS: u32 = 8;

/// Posts in one statement.
const POSTS_AT_ONCE: u32 = 100;

const WORDS: [&str; 32] = [
    "cache", "page", "server", "answer", "reader", "memory", "query", "light", "river", "garden", "winter", "letter",
    "quiet", "stone", "paper", "window", "market", "evening", "story", "number", "bridge", "engine", "colour",
    "summer", "forest", "table", "music", "harbour", "morning", "street", "island", "<em>",
];

/// A linear congruential generator (Knuth's MMIX): the same numbers on each machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(bound.max(1))).unwrap_or(0)
    }

    fn words(&mut self, count: u32) -> String {
        let words: Vec<_> =
            (0..count).map(|_| WORDS.get(self.below(WORDS.len() as u32) as usize).copied().unwrap_or("")).collect();
        words.join(" ")
    }
}

struct Seeded {
    id: u32,
    title: String,
    body: String,
    written: String,
    tags: Vec<String>,
}

impl Seeded {
    fn new(id: u32) -> Self {
        let mut numbers = Numbers(u64::from(id));
        numbers.below(1);
        let title = format!("{id}: {}", numbers.words(5));
        let paragraphs = 4 + numbers.below(17);
        let body: Vec<_> = (0..paragraphs).map(|_| numbers.words(75)).collect();
        let written = format!("20{:02}-{:02}-{:02}", 10 + id % 15, 1 + id % 12, 1 + id % 28);
        let mut tags: Vec<_> = (0..=numbers.below(3)).map(|_| format!("topic-{}", numbers.below(TAGS))).collect();
        tags.sort();
        tags.dedup();
        Self { id, title, body: body.join("\n\n"), written, tags }
    }
}

pub async fn seed(database: &Database, posts: u32) -> Result<(), sqlx::Error> {
    database.0.execute("DROP TABLE IF EXISTS post_tags, posts, pages").await?;
    for statement in SCHEMA.split(';').filter(|statement| statement.contains("CREATE")) {
        database.0.execute(statement).await?;
    }
    let mut first = 1;
    while first <= posts {
        let last = posts.min(first.saturating_add(POSTS_AT_ONCE - 1));
        let seeded: Vec<_> = (first..=last).map(Seeded::new).collect();
        let mut insert = QueryBuilder::<MySql>::new("INSERT INTO posts (id, title, body, written) ");
        insert.push_values(&seeded, |mut row, post| {
            row.push_bind(post.id).push_bind(&post.title).push_bind(&post.body).push_bind(&post.written);
        });
        insert.build().execute(&database.0).await?;
        let mut insert = QueryBuilder::<MySql>::new("INSERT INTO post_tags (post, tag) ");
        let tags = seeded.iter().flat_map(|post| post.tags.iter().map(|tag| (post.id, tag)));
        insert.push_values(tags, |mut row, (post, tag)| {
            row.push_bind(post).push_bind(tag);
        });
        insert.build().execute(&database.0).await?;
        first = last + 1;
    }
    let mut numbers = Numbers(0);
    let body: Vec<_> = (0..ABOUT_PARAGRAPHS).map(|_| numbers.words(75)).collect();
    let about =
        sqlx::query("INSERT INTO pages (name, title, body) VALUES ('about', 'About', ?)").bind(body.join("\n\n"));
    about.execute(&database.0).await?;
    println!("{posts} posts");
    Ok(())
}
