//! Line charts of figures by number of clients, as SVG text: one for a wide screen, one for a phone.

use anyhow::{Result, anyhow};
use cohort_txn::CommitProtocol;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::chart::{Doublings, Drawn, FAINT, FONT, INK, thousands};
use crate::history::plan::{Contestant, Entrant, entrant};

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Our server.
    Solid,
    /// A real peer.
    Dashed,
    /// Anybody without a binlog.
    Dotted,
}

/// A contestant's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub contestant: Contestant,
    /// Clients, ascending, and the figure; one at least.
    pub points: Vec<(u32, f64)>,
}

/// What a chart has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// Lines are named where they end.
    Wide,
    /// Lines have colours only; the page names them below.
    Phone,
}

impl Stroke {
    /// Of this contestant's line.
    pub fn of(contestant: Contestant) -> Stroke {
        match contestant {
            Contestant { binlog: false, .. } => Stroke::Dotted,
            Contestant { entrant, .. } if entrant.is_peer() => Stroke::Dashed,
            _ => Stroke::Solid,
        }
    }

    /// Lengths of a dash and of the gap after it, pixels.
    pub fn dashes(self) -> Option<(u32, u32)> {
        match self {
            Stroke::Solid => None,
            Stroke::Dashed => Some((9, 5)),
            Stroke::Dotted => Some((2, 4)),
        }
    }
}

/// The colour of a protocol in every chart; a real peer has that of the protocol it is known for.
pub fn color(entrant: Entrant) -> RGBColor {
    match entrant {
        entrant::MYSQL50 => RGBColor(0xc0, 0x2b, 0x2b),
        entrant::MYSQL50_WITHOUT_XA => RGBColor(0xe3, 0x8a, 0x7a),
        entrant::PLUGIN104 | entrant::REAL_MYSQL55 => RGBColor(0xc9, 0x7b, 0x06),
        entrant::MYSQL56 | entrant::REAL_MYSQL56 => RGBColor(0x7a, 0x3f, 0x9d),
        entrant::MYSQL57 => RGBColor(0xc2, 0x5b, 0xb0),
        entrant::MARIADB_NAIVE => RGBColor(0x8a, 0x6d, 0x3b),
        entrant::MARIADB => RGBColor(0x1d, 0x7a, 0x56),
        entrant::MARIADB_WITHOUT_COMMIT_FLUSH | entrant::REAL_MARIADB1011 => RGBColor(0x3f, 0xb0, 0x7f),
        Entrant::Ours(CommitProtocol::TcMmap) => RGBColor(0x4a, 0x63, 0x73),
        entrant::JOURNAL => RGBColor(0x1f, 0x5f, 0xa8),
        Entrant::Ours(_) => RGBColor(0x7f, 0x7f, 0x7f),
    }
}

/// Draws lines over the number of clients; `unit` says what stands on the vertical axis, from zero up.
pub fn svg(lines: &[Line], unit: &str, screen: Screen) -> Result<String> {
    let mut text = String::new();
    draw(lines, unit, screen, &mut text).map_err(|error| anyhow!("{error}"))?;
    Ok(text)
}

fn draw(lines: &[Line], unit: &str, screen: Screen, text: &mut String) -> Drawn {
    let (size, right, font) = match screen {
        Screen::Wide => ((920, 460), 200, 16),
        Screen::Phone => ((370, 320), 12, 16),
    };
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    let mut clients: Vec<u32> = lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    clients.sort_unstable();
    clients.dedup();
    let highest = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)).fold(0.0, f64::max);
    let top = if highest > 0.0 { highest * 1.06 } else { 1.0 };

    let mut chart = ChartBuilder::on(&root)
        .margin_top(34)
        .margin_right(right)
        .margin_left(4)
        .margin_bottom(4)
        .x_label_area_size(46)
        .y_label_area_size(if screen == Screen::Wide { 66 } else { 60 })
        .build_cartesian_2d(Doublings::around(&clients), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .x_desc("clients (logarithmic)")
        .x_labels(clients.len().max(2))
        .y_labels(6)
        .x_label_formatter(&|x| format!("{:.0}", x.exp2()))
        .y_label_formatter(&|y| label(*y, top))
        .label_style((FONT, font).into_font().color(&INK))
        .axis_desc_style((FONT, font).into_font().color(&INK))
        .draw()?;
    // Above the axis it belongs to: upright text is read without turning the head.
    root.draw(&Text::new(unit.to_owned(), (6, 8), (FONT, font).into_font().color(&INK)))?;

    // Ours is drawn last, over the others.
    let mut order: Vec<&Line> = lines.iter().collect();
    order.sort_by_key(|line| line.contestant.entrant == entrant::JOURNAL);
    let mut ends = Vec::new();
    for line in order {
        let entrant = line.contestant.entrant;
        let color = color(entrant);
        let style = color.stroke_width(if entrant == entrant::JOURNAL { 4 } else { 2 });
        let points: Vec<(f64, f64)> = line.points.iter().map(|&(x, y)| (f64::from(x).log2(), y)).collect();
        match Stroke::of(line.contestant).dashes() {
            None => drop(chart.draw_series(LineSeries::new(points.clone(), style))?),
            Some((dash, gap)) => drop(chart.draw_series(DashedLineSeries::new(points.clone(), dash, gap, style))?),
        }
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, color.filled())))?;
        if let Some(last) = points.last() {
            ends.push((chart.backend_coord(last), line.contestant, color));
        }
    }
    if screen == Screen::Wide {
        let bottom = size.1 as i32 - 56;
        ends.sort_by_key(|(at, ..)| at.1);
        let wanted: Vec<i32> = ends.iter().map(|(at, ..)| at.1).collect();
        let edge = size.0 as i32 - right;
        for ((at, contestant, color), y) in ends.iter().zip(spread(&wanted, 17, bottom)) {
            let lead = vec![(at.0 + 5, at.1), (edge + 4, y), (edge + 10, y)];
            root.draw(&PathElement::new(lead, color.stroke_width(1)))?;
            let style = (FONT, 16).into_font().color(color).pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(contestant.to_string(), (edge + 14, y), style))?;
        }
    }
    root.present()?;
    Ok(())
}

/// Moves labels apart that want to stand at `wanted`, ascending, so that each is `gap` below the one before
/// and none is below `bottom` as long as there is room.
fn spread(wanted: &[i32], gap: i32, bottom: i32) -> Vec<i32> {
    let mut at: Vec<i32> = Vec::with_capacity(wanted.len());
    for &y in wanted {
        at.push(at.last().map_or(y, |&before| y.max(before + gap)));
    }
    let mut limit = bottom;
    for y in at.iter_mut().rev() {
        *y = (*y).min(limit);
        limit = *y - gap;
    }
    at
}

/// A figure on an axis that ends at `top`, with as many decimals as distinguish the marks.
fn label(value: f64, top: f64) -> String {
    match top {
        _ if top < 1.0 => format!("{value:.2}"),
        _ if top < 10.0 => format!("{value:.1}"),
        _ => thousands(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_move_apart_and_stay_on_the_chart() {
        assert_eq!(spread(&[10, 12, 100], 17, 200), [10, 27, 100]);
        assert_eq!(spread(&[190, 195, 199], 17, 200), [166, 183, 200]);
        assert!(spread(&[], 17, 200).is_empty());
    }

    #[test]
    fn a_wide_chart_names_its_lines_and_a_small_one_does_not() {
        let line = Line { contestant: Contestant::new(entrant::PLUGIN104), points: vec![(1, 100.0), (32, 900.0)] };
        let wide = svg(std::slice::from_ref(&line), "commits per second", Screen::Wide).unwrap();
        assert!(wide.contains("plugin104") && wide.contains("commits per second") && wide.contains("#C97B06"));
        let phone = svg(&[line], "commits per second", Screen::Phone).unwrap();
        assert!(!phone.contains("plugin104") && phone.contains("#C97B06"));
    }
}
