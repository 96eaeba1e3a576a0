//! Soft errors: an application that says 200 when it fails, or when there is nothing to show.

use crate::anonymous::application::{Application, Does};
use crate::anonymous::{grant, policy};
use kasoku_engine::explain::Question;
use kasoku_metrics::Counter;
use kasoku_options::{GuardRules, PageRules};
use kasoku_testkit::{Response, Scenario, Setup, reply};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// What its pages are good for at present.
#[derive(Default)]
struct State {
    is_down: bool,
    deleted: HashSet<String>,
}

/// A blog whose pages all say 200.
struct Blog {
    application: Application,
    state: Arc<Mutex<State>>,
}

const DOWN: &str = "The data source does not answer. Please come back later.";

impl Blog {
    fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let own = state.clone();
        let application = Application::start(move |asked| {
            let state = own.lock().unwrap();
            let article = asked.target().rsplit('=').next().unwrap().to_owned();
            Does::Answer(match () {
                () if state.is_down => reply("200 OK", &["Content-Type: text/plain"], DOWN),
                // As frameworks do that make a tag of each body.
                () if state.deleted.contains(&article) && asked.field("if-none-match").is_some() => {
                    reply("304 Not Modified", &["ETag: \"none\""], "")
                }
                () if state.deleted.contains(&article) => reply(
                    "200 OK",
                    &["Content-Type: text/html", "ETag: \"none\""],
                    "<html><body><p class=\"none\">No such article.</p></body></html>",
                ),
                () => reply("200 OK", &["Content-Type: text/html"], page(&article)),
            })
        });
        Self { application, state }
    }

    fn behind(&self) -> Scenario {
        self.behind_with(PageRules::default())
    }

    fn behind_with(&self, page: PageRules) -> Scenario {
        let guard = Arc::new(GuardRules { is_enabled: true, ..GuardRules::default() });
        let setup = Setup::safe().route(move |route| {
            grant(route).ttl_seconds = 3600;
            policy(route).grace_seconds = 7200;
            route.guard = guard;
            route.page = Arc::new(page);
        });
        setup.run_before(&self.application.address())
    }

    fn is_down(&self, is_down: bool) {
        self.state.lock().unwrap().is_down = is_down;
    }

    fn deletes(&self, article: &str) {
        self.state.lock().unwrap().deleted.insert(article.to_owned());
    }
}

fn page(article: &str) -> String {
    let text = "A sentence of the article. ".repeat(60);
    let classes = ["header", "menu", "article", "text", "comments", "sidebar", "footer"];
    let parts: String = classes.iter().map(|class| format!("<div class=\"{class}\">{text}</div>\n")).collect();
    format!("<!DOCTYPE html><html lang=\"en\"><body>\n<h1>Article {article}</h1>\n{parts}</body></html>")
}

fn asks(scene: &Scenario, article: &str) -> Response {
    scene.client().get(&format!("/blog?article={article}"))
}

/// Asks for three articles until they are hits: their pattern is known.
fn is_known(scene: &Scenario) {
    for article in ["a", "b", "c"] {
        scene.eventually(|| asks(scene, article).is_hit());
    }
}

/// How long the stored answer lives from now on. An answer may join the fill that brought it.
fn lives_seconds(scene: &Scenario, article: &str) -> i64 {
    let mut answer = asks(scene, article);
    scene.eventually(|| {
        answer = asks(scene, article);
        answer.is_hit()
    });
    answer.cache_status("ttl").unwrap().parse().unwrap()
}

#[test]
fn an_answer_without_a_page_lives_seconds_and_its_whole_lifetime_while_others_are_good() {
    let blog = Blog::start();
    let scene = blog.behind();
    is_known(&scene);
    scene.counted(Counter::SoftErrors, 0);
    blog.deletes("d");
    assert!(asks(&scene, "d").text().contains("No such article"));
    assert_eq!(lives_seconds(&scene, "d"), 5);
    scene.counted(Counter::SoftErrors, 1);
    scene.advance(6);
    asks(&scene, "d");
    assert_eq!(lives_seconds(&scene, "d"), 10);
    let told = scene.engine.handle().explain(&Question::get("http://example.org/blog?article=d")).unwrap();
    assert!(told.points.iter().any(|point| point.text.contains("may be an error that says 200")), "{told:?}");
    assert!(!told.points.iter().any(|point| point.text.contains("served stale")), "{told:?}");
    // Another article is good: the application works.
    scene.advance(3);
    assert!(!asks(&scene, "e").is_hit());
    scene.advance(8);
    asks(&scene, "d");
    assert!(lives_seconds(&scene, "d") > 3000);
}

#[test]
fn a_deleted_page_is_replaced_at_once() {
    let blog = Blog::start();
    let scene = blog.behind();
    is_known(&scene);
    blog.deletes("a");
    scene.advance(3601);
    scene.eventually(|| asks(&scene, "a").text().contains("No such article"));
    scene.advance(4);
    for _ in 0..3 {
        assert!(asks(&scene, "a").text().contains("No such article"));
    }
}

#[test]
fn an_outage_lives_seconds_and_replaces_no_second_page() {
    let blog = Blog::start();
    let scene = blog.behind();
    is_known(&scene);
    scene.advance(3601);
    blog.is_down(true);
    // Each page is served stale once while it is refreshed.
    for article in ["a", "b", "c"] {
        asks(&scene, article);
        scene.settled();
    }
    scene.eventually(|| asks(&scene, "a").text().contains("does not answer"));
    for _ in 0..5 {
        for article in ["b", "c"] {
            let stale = asks(&scene, article);
            assert!(stale.is_hit() && stale.text().contains("<h1>Article"), "{article}: {stale:?}");
        }
        scene.advance(20);
        scene.settled();
    }
    blog.is_down(false);
    scene.advance(300);
    for article in ["a", "b", "c", "d"] {
        scene.eventually(|| {
            scene.advance(1);
            asks(&scene, article).is_hit() && asks(&scene, article).text().contains("<h1>Article")
        });
    }
    scene.counted(Counter::GuardBlocked, 0);
}

#[test]
fn who_waited_for_the_page_of_an_outage_gets_it_and_does_not_wait_again() {
    let blog = Blog::start();
    let texts = |text: &str| vec![text.to_owned()];
    let scene = blog.behind_with(PageRules { texts: texts("</html>"), outages: texts(DOWN), ..PageRules::default() });
    is_known(&scene);
    blog.is_down(true);
    let count = blog.application.count();
    let answer = asks(&scene, "d");
    assert_eq!((answer.text().as_str(), answer.detail().as_str()), (DOWN, "outage"), "{answer:?}");
    assert_eq!(blog.application.count(), count + 1);
}
