//! A small blog: lists, posts, tags, and a form to edit a post. One flag chooses which cache its pages come from.
//!
//! `blog seed` fills the database, `blog serve --cache …` serves. README.md says how to compare the choices.

mod admin;
mod cache;
mod database;
mod seed;
mod site;
mod views;

use axum::body::Body;
use axum::response::Response;
use cache::{Choice, Options, PageCache};
use clap::{Parser, Subcommand};
use database::Database;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tower::ServiceBuilder;
use tower::make::Shared;

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
        /// Where the Kasoku server of --cache kasoku listens
        #[arg(long, default_value = "127.0.0.1:8080")]
        kasoku: SocketAddr,
        /// The password of the user admin; without one, nothing can be edited
        #[arg(long, env = "BLOG_ADMIN_PASSWORD", hide_env_values = true)]
        admin_password: Option<String>,
        /// How many threads serve; 1: the main thread alone [default: one for each core]
        #[arg(long)]
        threads: Option<usize>,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { database, command } = Arguments::parse();
    let threads = if let Command::Serve { threads, .. } = &command { *threads } else { None };
    runtime(threads)?.block_on(run(&database, command))
}

fn runtime(threads: Option<usize>) -> std::io::Result<Runtime> {
    match threads {
        Some(0 | 1) => runtime::Builder::new_current_thread().enable_all().build(),
        Some(several) => runtime::Builder::new_multi_thread().worker_threads(several).enable_all().build(),
        None => Runtime::new(),
    }
}

async fn run(database: &str, command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Seed { posts } => seed::seed(&Database::connect(database, false).await?, posts).await?,
        Command::Serve { cache: choice, listen, ttl, memory, redis, kasoku, admin_password, threads: _ } => {
            let database = Database::connect(database, choice == Choice::Mariadb).await?;
            let listener = TcpListener::bind(listen).await?;
            let address = listener.local_addr()?;
            let (ttl, memory_bytes_max) = (Duration::from_secs(ttl), memory << 20);
            let cache = PageCache::new(choice, &Options { ttl, memory_bytes_max, address, redis, kasoku }).await?;
            println!("serving on http://{address}/");
            let layer = cache.layer();
            let routes = site::routes(database, cache, admin_password);
            match layer {
                Some(layer) => {
                    let made = |page: Response<_>| page.map(Body::new);
                    let blog = ServiceBuilder::new().map_response(made).layer(layer).service(routes);
                    axum::serve(listener, Shared::new(blog)).with_graceful_shutdown(asked_to_end()).await?;
                }
                None => axum::serve(listener, routes).with_graceful_shutdown(asked_to_end()).await?,
            }
        }
    }
    Ok(())
}

async fn asked_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
