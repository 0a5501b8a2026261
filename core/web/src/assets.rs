//! Pages of the screen, embedded in the program: HTML, JavaScript, style sheet, icon.

include!(concat!(env!("OUT_DIR"), "/built.rs"));

/// Content security policy of pages: load from here alone, run no inline script or style, be in no frame.
pub const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                          object-src 'none'";

/// Shown where the screen was not built.
const NOT_BUILT: &str = include_str!("not_built.html");

/// A file that browsers get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asset {
    /// Content-Type.
    pub media_type: &'static str,
    /// Content.
    pub octets: &'static [u8],
    /// The name changes with the content, so that browsers may keep it.
    pub is_immutable: bool,
}

/// Whether this program has the screen.
pub fn is_built() -> bool {
    !BUILT.is_empty()
}

/// The asset of a path, `/` for the page itself.
pub fn asset(path: &str) -> Option<Asset> {
    let name = match path.strip_prefix('/')? {
        "" => "index.html",
        name => name,
    };
    let found = BUILT.iter().find(|(one, _)| *one == name);
    match found {
        Some((_, octets)) => Some(Asset {
            media_type: media_type(name)?,
            octets,
            is_immutable: name.starts_with("assets/"),
        }),
        None if name == "index.html" => Some(Asset {
            media_type: media_type(name)?,
            octets: NOT_BUILT.as_bytes(),
            is_immutable: false,
        }),
        None => None,
    }
}

/// Names of all assets.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT.iter().map(|(name, _)| *name)
}

/// By the ending of a name; other files are not served.
fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_page_and_nothing_inline_in_it() {
        let page = asset("/").unwrap();
        let text = std::str::from_utf8(page.octets).unwrap();
        assert!(page.media_type.starts_with("text/html"), "{page:?}");
        assert!(text.starts_with("<!doctype html>"), "{text}");
        for inline in ["<style", " style=", "<script>", "javascript:", "://"] {
            assert!(!text.contains(inline), "{inline}");
        }
        assert_eq!(asset("/").unwrap(), asset("/index.html").unwrap());
        assert_eq!(is_built(), text.contains("<script "));
    }

    #[test]
    fn every_asset_has_a_media_type_and_nothing_else_is_served() {
        for name in names() {
            assert!(asset(&format!("/{name}")).is_some(), "{name}");
        }
        for path in ["", "index.html", "/../Cargo.toml", "/assets/", "//", "/x"] {
            assert_eq!(asset(path), None, "{path}");
        }
    }
}
