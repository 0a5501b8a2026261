//! Results as pictures: a [`Figure`] is made of points ([`figure`]), drawn as SVG ([`svg`]) and
//! turned into PNG ([`png`]).

mod draw;
mod figure;
mod lines;
mod ticks;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, OnceLock};

pub use draw::svg;
pub use figure::{Curve, CurvePoint, Figure, Panel, figure};

/// A picture that could not be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Blot {
    /// No font of this machine can write the labels.
    #[error("no font was found to write PNGs with; `apt-get install fonts-dejavu-core` has one")]
    NoFont,
    /// The library refused.
    #[error("{0}")]
    Refused(String),
}

/// Pixels for each unit of the SVG.
const SCALE: f32 = 1.5;

/// The picture as a PNG file.
pub fn png(svg: &str) -> Result<Vec<u8>, Blot> {
    let tree = tree(svg)?;
    let size = tree.size();
    let (width, height) = (
        (size.width() * SCALE) as u32,
        (size.height() * SCALE) as u32,
    );
    let mut pixels = Pixmap::new(width, height).ok_or(Blot::Refused("no size".to_owned()))?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixels.as_mut(),
    );
    pixels
        .encode_png()
        .map_err(|e| Blot::Refused(e.to_string()))
}

/// The picture as the library understands it.
pub(crate) fn tree(svg: &str) -> Result<Tree, Blot> {
    let fonts = fonts().ok_or(Blot::NoFont)?;
    let options = Options {
        fontdb: fonts,
        ..Options::default()
    };
    Tree::from_str(svg, &options).map_err(|e| Blot::Refused(e.to_string()))
}

/// All fonts of the machine, with one of them for everything; none if it has none.
fn fonts() -> Option<Arc<fontdb::Database>> {
    static FONTS: OnceLock<Option<Arc<fontdb::Database>>> = OnceLock::new();
    let load = || {
        let mut all = fontdb::Database::new();
        all.load_system_fonts();
        let family = |face: &fontdb::FaceInfo| face.families.first().map(|f| f.0.clone());
        let wanted = ["DejaVu Sans", "Liberation Sans", "Noto Sans"];
        let mut known: Vec<String> = all.faces().filter_map(family).collect();
        known.sort_by_key(|name| {
            wanted
                .iter()
                .position(|w| w == name)
                .unwrap_or(wanted.len())
        });
        all.set_sans_serif_family(known.first()?);
        Some(Arc::new(all))
    };
    FONTS.get_or_init(load).clone()
}
