//! Prints docs/configuration.md.

fn main() {
    print!("{}", kasoku_config::reference_markdown());
}
