//! Remarks about a run of a wired card: likely mistakes of the user.

use super::card::WiredCard;
use super::fates::Fates;
use super::traffic::SideTraffic;
use crate::run::Ended;
use crate::streams::FeedReport;
use crate::summary::{Remark, grouped, part_of};
use spinach::hosts;

impl WiredCard {
    /// The remarks of this run.
    pub(super) fn remarks(&self) -> Vec<Remark> {
        let sides = [("host's traffic", &self.sides.host), ("traffic", &self.sides.network)];
        let mut remarks: Vec<Remark> = self.idle().into_iter().collect();
        for ((whose, side), fates) in sides.into_iter().zip(self.fates()) {
            remarks.extend(self.remarks_of(whose, side, &fates));
        }
        remarks
    }

    /// The remarks about the frames of a side.
    fn remarks_of(&self, whose: &str, side: &SideTraffic, fates: &Fates) -> Vec<Remark> {
        let total = fates.given() + fates.too_long + fates.not_given;
        let part = |count: u64| format!("{whose}: {}", part_of(count, total, "frame"));
        let is = |count: u64| if count == 1 { "is" } else { "are" };
        let was = |count: u64| if count == 1 { "was" } else { "were" };
        let mut remarks = Vec::new();
        for report in &side.reports {
            remarks.extend(remarks_of_source(whose, report));
        }
        if fates.too_long > 0 {
            let longest = grouped(side.longest as u64);
            let takes = hosts::longest(&self.design)
                .map_or_else(String::new, |most| format!(", the card takes {}", grouped(most as u64)));
            let text = format!(
                "{} {} longer than the card takes and {} not given to it; the longest has {longest} bytes{takes}",
                part(fates.too_long),
                is(fates.too_long),
                was(fates.too_long)
            );
            remarks.push(Remark::new("frames_too_long", text));
        }
        if fates.filtered > 0 {
            let mut text = format!(
                "{} {} for another address, and the card dropped them",
                part(fates.filtered),
                is(fates.filtered)
            );
            if let Some(path) = self.promiscuous() {
                text += &format!("; to receive all frames: --set {path}=true");
            }
            remarks.push(Remark::new("frames_filtered", text));
        }
        let no_room = fates.overrun + fates.no_buffer + fates.no_descriptor;
        if no_room > 0 {
            let text = format!("{} found no room in the card, which dropped them", part(no_room));
            remarks.push(Remark::new("frames_without_room", text));
        }
        if fates.receiver_off > 0 {
            let text = format!("{} came while the receiver was not enabled", part(fates.receiver_off));
            remarks.push(Remark::new("receiver_off", text));
        }
        if fates.damaged > 0 {
            let text = format!("{} reached the host with an error flag", part(fates.damaged));
            remarks.push(Remark::new("frames_damaged", text));
        }
        if fates.not_out > 0 && self.ended == Some(Ended::Complete) {
            let text = format!("{} did not come out, and no drop is counted", part(fates.not_out));
            remarks.push(Remark::new("frames_not_out", text));
        }
        remarks
    }

    /// The parameter for promiscuous mode, if the card has one and it is off.
    fn promiscuous(&self) -> Option<String> {
        let is_off = |part: &&blocks::netlist::DesignPart| {
            part.parameters.get("promiscuous").and_then(toml::Value::as_bool) == Some(false)
        };
        self.design.parts.iter().find(is_off).map(|part| format!("{}.promiscuous", part.path))
    }

    /// A remark if the card gets no frames.
    fn idle(&self) -> Option<Remark> {
        let common = &self.setup.experiment.common;
        let text = match common.traffic.len() + common.send.len() {
            _ if self.offers_frames() => return None,
            0 => "the card idles: neither traffic from the network nor what its host sends is given",
            _ => "the card idles: no frame is in what it is given",
        };
        Some(Remark::new("no_traffic", text.to_owned()))
    }
}

/// Remarks about unexpected data of a source.
fn remarks_of_source(whose: &str, report: &FeedReport) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if let Some(stop) = report.capture.as_ref().and_then(|(_, stop)| stop.as_ref()) {
        remarks.push(Remark::new("capture_damaged", format!("{whose}: the capture ends early: {stop}")));
    }
    let counts = report.capture.as_ref().map(|(counts, _)| *counts).unwrap_or_default();
    if counts.snapped > 0 {
        let frames = part_of(counts.snapped, counts.packets, "frame");
        let text = format!("{whose}: only the front of {frames} was captured; the rest is zeros");
        remarks.push(Remark::new("capture_snapped", text));
    }
    let left_out = counts.other_link_types + counts.too_short + counts.too_long + counts.malformed_blocks;
    if left_out > 0 {
        let records = part_of(left_out, left_out + counts.packets, "record");
        let text = format!("{whose}: {records} of the capture cannot be given to a card");
        remarks.push(Remark::new("capture_left_out", text));
    }
    if report.pacing.cut_gaps > 0 {
        let text = format!("{whose}: gaps were cut so that the run ends within 5 hours: {}", report.pacing.cut_gaps);
        remarks.push(Remark::new("cut_gaps", text));
    }
    remarks
}
