//! Prints packaging/kasoku.schema.json.

fn main() {
    print!("{}", kasoku_config::schema_json());
}
