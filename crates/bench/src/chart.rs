//! Draws a report as SVG: throughput by clients, and every ratio against its target.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::{CaseResult, Report};

const COHORT: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const MARIADB: RGBColor = RGBColor(0xb0, 0x66, 0x1a);
pub(crate) const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);
pub(crate) const FAINT: RGBColor = RGBColor(0xe2, 0xe2, 0xe2);
pub(crate) const FONT: &str = "sans-serif";

/// Writes `throughput.svg` (if a workload ran with several numbers of clients) and `ratios.svg`.
pub fn draw(report: &Report, folder: &Path) -> Result<()> {
    let by_clients: Vec<&CaseResult> = report.cases.iter().filter(|case| case.workload == "update_non_index").collect();
    if by_clients.len() > 1 {
        let file = folder.join("throughput.svg");
        throughput(&by_clients, &caption(report), &file).map_err(|error| anyhow!("{error}"))?;
    }
    ratios(&report.cases, &caption(report), &folder.join("ratios.svg")).map_err(|error| anyhow!("{error}"))
}

fn caption(report: &Report) -> String {
    let setting = &report.setting;
    format!(
        "{} rows, every commit synced; {} processors; medians, rounds: {}; {}",
        setting.rows,
        setting.machine.processors,
        report.cases.iter().map(|case| case.rounds.len()).max().unwrap_or(0),
        setting.machine.date.split('T').next().unwrap_or_default()
    )
}

pub(crate) type Drawn = Result<(), Box<dyn std::error::Error>>;

fn throughput(cases: &[&CaseResult], caption: &str, file: &Path) -> Drawn {
    let root = SVGBackend::new(file, (900, 540)).into_drawing_area();
    root.fill(&WHITE)?;
    titles(&root, "sysbench oltp_update_non_index: transactions per second", caption)?;
    let fastest = cases.iter().map(|case| case.cohort.throughput.max(case.mariadb.throughput));
    let top = fastest.fold(0.0, f64::max) * 1.15;
    let clients: Vec<u32> = cases.iter().map(|case| case.clients).collect();

    let mut chart = ChartBuilder::on(&root)
        .margin_top(70)
        .margin_right(120)
        .margin_left(10)
        .margin_bottom(10)
        .x_label_area_size(50)
        .y_label_area_size(80)
        .build_cartesian_2d(Doublings::around(&clients), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .x_desc("clients (logarithmic)")
        .y_desc("transactions per second")
        .x_labels(clients.len().max(2))
        .x_label_formatter(&|x| format!("{:.0}", x.exp2()))
        .y_label_formatter(&|y| thousands(*y))
        .label_style((FONT, 14).into_font().color(&INK))
        .axis_desc_style((FONT, 15).into_font().color(&INK))
        .draw()?;

    type Throughput = fn(&CaseResult) -> f64;
    let servers: [(&str, RGBColor, Throughput); 2] =
        [("Cohort", COHORT, |case| case.cohort.throughput), ("MariaDB", MARIADB, |case| case.mariadb.throughput)];
    for (name, color, of) in servers {
        let points: Vec<(f64, f64)> = cases.iter().map(|case| (f64::from(case.clients).log2(), of(case))).collect();
        chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(3)))?;
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 5, color.filled())))?;
        let label = (FONT, 14).into_font().color(&color);
        chart.draw_series(cases.iter().zip(&points).map(|(case, &point)| {
            // The faster one's figure stands above its point, the other's below; near the axis, at the left.
            let (anchor, offset) = if point.1 >= case.cohort.throughput.max(case.mariadb.throughput) {
                (Pos::new(HPos::Right, VPos::Bottom), (-4, -8))
            } else if point.1 < top * 0.08 {
                (Pos::new(HPos::Right, VPos::Center), (-12, 0))
            } else {
                (Pos::new(HPos::Center, VPos::Top), (0, 10))
            };
            EmptyElement::at(point) + Text::new(thousands(point.1), offset, label.pos(anchor))
        }))?;
        // The line is named where it ends: no legend to look up.
        let name_style = (FONT, 17).into_font().color(&color).pos(Pos::new(HPos::Left, VPos::Center));
        if let Some(&last) = points.last() {
            let label = EmptyElement::at(last) + Text::new(name.to_owned(), (34, 0), name_style);
            chart.draw_series([label])?;
        }
    }
    root.present()?;
    Ok(())
}

fn ratios(cases: &[CaseResult], caption: &str, file: &Path) -> Drawn {
    const ROW: i32 = 30;
    const LEFT: i32 = 230;
    const WIDTH: i32 = 500;
    const TOP: i32 = 90;
    // One workload far ahead must not make the others unreadable.
    const LONGEST_BAR: f64 = 6.0;
    let height = TOP + ROW * cases.len() as i32 + 60;
    let root = SVGBackend::new(file, (900, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    titles(&root, "Throughput as a multiple of MariaDB's", caption)?;
    let longest = cases.iter().map(|case| case.ratio.max(case.target)).fold(1.0, f64::max).min(LONGEST_BAR);
    let x = |ratio: f64| LEFT + (ratio.min(longest) / longest * f64::from(WIDTH)) as i32;

    let style = |color: RGBColor, h| (FONT, 14).into_font().color(&color).pos(Pos::new(h, VPos::Center));
    for (index, case) in cases.iter().enumerate() {
        let middle = TOP + ROW * index as i32 + ROW / 2;
        let name = format!("{}, {} clients", case.workload, case.clients);
        root.draw(&Text::new(name, (LEFT - 12, middle), style(INK, HPos::Right)))?;
        let bar = [(LEFT, middle - 9), (x(case.ratio), middle + 9)];
        let color = if case.ratio >= case.target { COHORT } else { MARIADB };
        root.draw(&Rectangle::new(bar, color.filled()))?;
        let target = vec![(x(case.target), middle - 13), (x(case.target), middle + 13)];
        root.draw(&PathElement::new(target, INK.stroke_width(3)))?;
        let end = x(case.ratio.max(case.target)) + 12;
        let cut = if case.ratio > longest { " (bar cut short)" } else { "" };
        let label = format!("{:.2}{cut}", case.ratio);
        root.draw(&Text::new(label, (end, middle), style(color, HPos::Left)))?;
    }
    let bottom = TOP + ROW * cases.len() as i32;
    root.draw(&PathElement::new(vec![(LEFT, TOP), (LEFT, bottom)], INK.stroke_width(1)))?;
    let legend = "black mark: the ratio asked for; a brown bar does not reach it";
    root.draw(&Text::new(legend, (LEFT, bottom + 25), style(INK, HPos::Left)))?;
    root.present()?;
    Ok(())
}

fn titles(root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, title: &str, caption: &str) -> Drawn {
    root.draw(&Text::new(title.to_owned(), (24, 16), (FONT, 22).into_font().color(&INK)))?;
    root.draw(&Text::new(caption.to_owned(), (24, 44), (FONT, 14).into_font().color(&INK)))?;
    Ok(())
}

/// `1234` as `1,234`.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An axis of binary logarithms that is labelled exactly at the measured numbers of clients.
pub(crate) struct Doublings {
    axis: RangedCoordf64,
    points: Vec<f64>,
}

impl Doublings {
    pub(crate) fn around(clients: &[u32]) -> Doublings {
        let points: Vec<f64> = clients.iter().map(|&clients| f64::from(clients).log2()).collect();
        let (low, high) = points.iter().fold((f64::MAX, 0.0_f64), |(low, high), &at| (low.min(at), high.max(at)));
        Doublings { axis: (low - 0.9..high + 0.4).into(), points }
    }
}

impl Ranged for Doublings {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.axis.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.points.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.axis.range()
    }
}

impl plotters::coord::ranged1d::ValueFormatter<f64> for Doublings {
    fn format(value: &f64) -> String {
        format!("{:.0}", value.exp2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    pub(crate) fn thousands_are_set_apart() {
        assert_eq!(thousands(999.4), "999");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }
}
