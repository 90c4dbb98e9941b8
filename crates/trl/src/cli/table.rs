//! Aligned columns for people.

use trl_proto::Untrusted;

/// Longer cells are cut: a table that wraps is no table.
const WIDEST: usize = 60;

/// Rows under a heading, each column as wide as its widest cell.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(|cell| cell.to_string()).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| cut(&Untrusted::new(&cell).to_string())).collect());
    }

    pub(super) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WIDEST) {
        None => text.into(),
        Some(_) => text.chars().take(WIDEST - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_last_is_not_padded() {
        let mut table = Table::new(&["A", "LONG", "C"]);
        table.row(["wide cell".into(), "x".into(), "y".into()]);
        assert_eq!(table.render(), "A          LONG  C\nwide cell  x     y\n");
    }

    #[test]
    fn control_characters_and_long_cells_are_tamed() {
        let mut table = Table::new(&["A"]);
        table.row(["\x1b[2J\n".into()]);
        table.row(["é".repeat(100)]);
        let lines: Vec<String> = table.render().lines().map(String::from).collect();
        assert_eq!(lines[1], "⟨U+001B⟩[2J⟨U+000A⟩");
        assert_eq!(lines[2].chars().count(), WIDEST);
    }
}
