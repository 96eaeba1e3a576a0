//! A small blog: lists, posts, tags, and a form to edit a post. One flag chooses which cache its pages come from.
//!
//! `blog seed` fills the database, `blog serve --cache …` serves. README.md says how to compare the choices.

mod admin;
mod cache;
mod database;
mod seed;
mod site;
mod views;

use cache::{Choice, PageCache};
use clap::{Parser, Subcommand};
use database::Database;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;

#[derive(Parser)]
#[command(about = "A small blog, to compare caches inside and beside an application")]
struct Arguments {
    /// The database, as mysql://user:password@host/name or mysql://user@localhost/name?socket=/path
    #[arg(long, env = "BLOG_DATABASE", hide_env_values = true)]
    database: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the tables, and write the same posts each time
    Seed {
        /// How many posts
        #[arg(long, default_value_t = 5_000)]
        posts: u32,
    },
    /// Serve the blog
    Serve {
        /// Where pages come from
        #[arg(long, value_enum, default_value_t = Choice::None)]
        cache: Choice,
        #[arg(long, default_value = "127.0.0.1:8000")]
        listen: SocketAddr,
        /// How long a page is fresh, in seconds
        #[arg(long, default_value_t = 60)]
        ttl: u64,
        /// The memory for pages inside the process, in MiB; the map has no bound
        #[arg(long, default_value_t = 256)]
        memory: u64,
        /// The Redis server of --cache redis, as redis://host/ or unix:///path
        #[arg(long, default_value = "redis://127.0.0.1/")]
        redis: String,
        /// The password of the user admin; without one, nothing can be edited
        #[arg(long, env = "BLOG_ADMIN_PASSWORD", hide_env_values = true)]
        admin_password: Option<String>,
    },
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { database, command } = Arguments::parse();
    match command {
        Command::Seed { posts } => seed::seed(&Database::connect(&database, false).await?, posts).await?,
        Command::Serve { cache: choice, listen, ttl, memory, redis, admin_password } => {
            let database = Database::connect(&database, choice == Choice::Mariadb).await?;
            let cache = PageCache::new(choice, Duration::from_secs(ttl), memory << 20, &redis).await?;
            let listener = TcpListener::bind(listen).await?;
            println!("serving on http://{}/", listener.local_addr()?);
            let routes = site::routes(database, cache, admin_password);
            axum::serve(listener, routes).with_graceful_shutdown(asked_to_end()).await?;
        }
    }
    Ok(())
}

async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
