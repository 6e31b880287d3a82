//! Captures of ends of links: the key `captures` of a network.

use super::select::refused;
use super::setup::matches;
use diagnostics::near::{listed, suggestion};
use net::LinkId;
use net::capture::Capture;
use net::error::NetError;
use net::plan::Plan;
use std::collections::BTreeSet;
use std::fs::{File, create_dir_all};
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

/// The folder of the captures, below that of the results.
const FOLDER: &str = "links";

/// The captures of these ends of links. Each is a file `links/NODE-PORT.pcapng` below `folder`; without a folder, the ends are only
/// checked.
pub fn captures(ends: &[String], plan: &Plan, folder: Option<&Path>) -> Result<Vec<Capture>, NetError> {
    let mut chosen = Vec::new();
    for wanted in ends {
        let (pattern, port) = match wanted.rsplit_once(':') {
            Some((pattern, port)) => (pattern, Some(port)),
            None => (wanted.as_str(), None),
        };
        let before = chosen.len();
        for (number, link) in plan.links.iter().enumerate() {
            for (end, (node, own_port)) in link.ends.iter().enumerate() {
                let name = &plan.nodes[node.0 as usize].name;
                if matches(pattern, name) && port.is_none_or(|port| port == own_port.to_string()) {
                    chosen.push((LinkId(number as u32), end, format!("{name}-{own_port}.pcapng")));
                }
            }
        }
        if chosen.len() == before {
            let ends = plan.links.iter().flat_map(|link| link.ends);
            let ports = ends.filter(|(node, _)| matches(pattern, &plan.nodes[node.0 as usize].name));
            let ports: BTreeSet<String> =
                ports.map(|(node, port)| format!("{}:{port}", plan.nodes[node.0 as usize].name)).collect();
            if !ports.is_empty() {
                return Err(refused(
                    "captures",
                    wanted,
                    format!("one of {}", listed(ports.iter().map(String::as_str))),
                ));
            }
            let names = plan.nodes.iter().map(|node| node.name.as_str());
            let allowed = "NODE or NODE:PORT of a node or switch with a link there; NODE may be a pattern such as n*";
            return Err(refused("captures", wanted, format!("{allowed}{}", suggestion(pattern, names))));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    let Some(folder) = folder.map(|folder| folder.join(FOLDER)).filter(|_| !chosen.is_empty()) else {
        return Ok(Vec::new());
    };
    let failed = |path: &Path, error: io::Error| NetError::Observer {
        failure: Arc::new(io::Error::other(format!("{}: {error}", path.display()))),
    };
    create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let begin = |(link, end, name): (LinkId, usize, String)| {
        let path = folder.join(name);
        let file = File::create(&path).map_err(|error| failed(&path, error))?;
        Ok(Capture { link, end, stream: Box::new(BufWriter::new(file)) })
    };
    chosen.into_iter().map(begin).collect()
}
