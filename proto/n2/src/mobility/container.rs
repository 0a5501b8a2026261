//! Containers that one gNB writes for another (TS 38.413, 9.3.1.20 and 9.3.1.21), which an AMF passes on unread.

use oxirush_ngap::ngap::{self, decode_open_type};
use sluice_ids::NrCellIdentity;

use crate::value::{self, Location, written};

/// HandoverPreparationInformation without capabilities and without the source's configuration (TS 38.331,
/// 11.2.2), in unaligned PER.
const PREPARATION: [u8; 2] = [0, 0];

/// HandoverCommand with an RRCReconfiguration that changes nothing (TS 38.331, 11.2.2).
const COMMAND: [u8; 4] = [0, 0x20, 0, 0];

/// Source NG-RAN Node to Target NG-RAN Node Transparent Container (9.3.1.20): to the target's cell, of a UE
/// that was in the source's for so many seconds, 4095 at the most.
pub fn source_container(target: &Location, source: &Location, stayed_s: u16) -> Vec<u8> {
    let cell = |location: &Location| ngap::NGRANCGI::nR_CGI(value::cell(location));
    let visited = ngap::LastVisitedNGRANCellInformation::new(
        cell(source),
        ngap::CellType::new(ngap::CellSize::small, None),
        ngap::TimeUEStayedInCell(stayed_s.min(4095)),
        None,
        None,
        None,
    );
    let visited = ngap::LastVisitedCellInformation::nGRANCell(visited);
    let visited = ngap::LastVisitedCellItem::new(visited, None);
    written(
        &ngap::SourceNGRANNodeToTargetNGRANNodeTransparentContainer::new(
            ngap::RRCContainer(PREPARATION.to_vec().into()),
            None,
            None,
            cell(target),
            None,
            ngap::UEHistoryInformation(vec![visited]),
            None,
        ),
    )
}

/// The cell that the UE was in last, and how long; none if it is none of NR.
pub fn read_source_container(octets: &[u8]) -> Option<(NrCellIdentity, u16)> {
    let container: ngap::SourceNGRANNodeToTargetNGRANNodeTransparentContainer<'_> =
        decode_open_type(octets).ok()?;
    let visited = container.ue_history_information.0.first()?;
    let ngap::LastVisitedCellInformation::nGRANCell(visited) =
        &visited.last_visited_cell_information
    else {
        return None;
    };
    let ngap::NGRANCGI::nR_CGI(cell) = &visited.global_cell_id else {
        return None;
    };
    let stayed_s = visited.time_ue_stayed_in_cell.0;
    Some((value::read_cell(cell), stayed_s))
}

/// Target NG-RAN Node to Source NG-RAN Node Transparent Container (9.3.1.21).
pub fn target_container() -> Vec<u8> {
    written(
        &ngap::TargetNGRANNodeToSourceNGRANNodeTransparentContainer::new(
            ngap::RRCContainer(COMMAND.to_vec().into()),
            None,
        ),
    )
}
