//! Results as pictures: a [`Figure`] is made of points ([`figure`]), drawn as SVG ([`svg`]) and
//! turned into PNG ([`png`]).

mod draw;
mod figure;
mod scale;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, OnceLock};

pub use draw::svg;
pub use figure::{Figure, distinct, figure, with_unit};
pub use scale::three_digits;

/// A picture that could not be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Blot {
    #[error("no font was found to write PNGs with; `apt-get install fonts-dejavu-core` has one")]
    NoFont,
    #[error("{0}")]
    Refused(String),
}

/// Pixels for each unit of the SVG.
const SCALE: f32 = 1.5;

/// The picture as a PNG file.
pub fn png(svg: &str) -> Result<Vec<u8>, Blot> {
    let tree = tree(svg)?;
    let [width, height] = [tree.size().width(), tree.size().height()].map(|n| (n * SCALE) as u32);
    let mut pixels = Pixmap::new(width, height).ok_or(Blot::Refused("no size".to_owned()))?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    let encoded = pixels.encode_png();
    encoded.map_err(|e| Blot::Refused(e.to_string()))
}

/// The picture as the library understands it.
pub(crate) fn tree(svg: &str) -> Result<Tree, Blot> {
    let options = Options {
        fontdb: fonts().ok_or(Blot::NoFont)?,
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
        let place = |name: &String| wanted.iter().position(|w| w == name);
        let known = all.faces().filter_map(family);
        let best = known.min_by_key(|name| place(name).unwrap_or(wanted.len()))?;
        all.set_sans_serif_family(best);
        Some(Arc::new(all))
    };
    FONTS.get_or_init(load).clone()
}
