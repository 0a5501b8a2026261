//! NF instances of functions: those that the certificate of `sbi.tls` names, else random ones, which a program without a core
//! keeps in the folder of contexts.

use crate::config::{ContextsSection, CoreConfig};
use crate::needs::{StartError, problem};
use crate::parts::tokens;
use sluice_core_runtime::system;
use sluice_sbi::{Nf, NfInstance, Place};
use sluice_sbi_keys::instances_in_file;
use sluice_services::values;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const KEY: &str = "sbi.tls.certificate";

/// Instances that the certificate names; none without TLS, and of a certificate that names none where nobody wants tokens.
///
/// # Errors
/// The certificate cannot be read, or names what is no UUID, or nobody where services want tokens.
pub(crate) fn named(config: &CoreConfig) -> Result<Vec<NfInstance>, StartError> {
    let Some(tls) = &config.sbi.tls else {
        return Ok(Vec::new());
    };
    let at = &tls.certificate;
    let expected = "a certificate with an alternative name urn:uuid: for each NF instance, as sluice certificates makes it";
    let refuse = |what: String| StartError::from(problem(at.line, KEY, what, expected));
    let names = instances_in_file(&at.value).map_err(|e| refuse(e.to_string()))?;
    let read = |name: &String| {
        let instance = values::instance(name);
        instance.ok_or_else(|| refuse(format!("{name} is no UUID")))
    };
    let all: Vec<NfInstance> = names.iter().map(read).collect::<Result<_, _>>()?;
    if all.is_empty() && tokens::are_required(config) {
        return Err(refuse("the certificate names no NF instance".to_owned()));
    }
    Ok(all)
}

/// Functions of a core, in the order in which its certificate names them.
fn places(config: &CoreConfig) -> Vec<Place> {
    let further = config.wiring.further_instances();
    let all = Nf::ALL.into_iter().map(Place::from);
    all.chain(further).collect()
}

/// Identities of the functions of a core that its certificate names; none where it names nobody.
///
/// # Errors
/// As [`named`], or it names fewer than there are.
pub(crate) fn of_core(config: &CoreConfig) -> Result<Vec<(Place, NfInstance)>, StartError> {
    let (named, places) = (named(config)?, places(config));
    if named.is_empty() {
        return Ok(Vec::new());
    }
    enough(config, &named, &places)?;
    Ok(places.into_iter().zip(named).collect())
}

fn enough(config: &CoreConfig, named: &[NfInstance], places: &[Place]) -> Result<(), StartError> {
    let (has, wants) = (named.len(), places.len());
    if has >= wants {
        return Ok(());
    }
    let line = config
        .sbi
        .tls
        .as_ref()
        .map_or(0, |tls| tls.certificate.line);
    let what = format!("the certificate names {has} NF instances, and {wants} functions show it");
    let expected = format!("one for each (sluice certificates --instances {wants})");
    Err(problem(line, KEY, what, expected).into())
}

/// Identities of the functions of a program without a core.
///
/// # Errors
/// As [`of_core`].
pub(crate) fn alone(
    config: &CoreConfig,
    own: &[Place],
) -> Result<Vec<(Place, NfInstance)>, StartError> {
    let named = named(config)?;
    if named.is_empty() {
        return Ok(own
            .iter()
            .map(|place| (*place, kept(config, *place)))
            .collect());
    }
    let all = places(config);
    // Programs that share a certificate have an instance each; one that has its own has all of them.
    let shared = all
        .iter()
        .zip(&named)
        .filter(|(place, _)| own.contains(place));
    if named.len() >= all.len() {
        return Ok(shared
            .map(|(place, instance)| (*place, *instance))
            .collect());
    }
    enough(config, &named, own)?;
    Ok(own.iter().copied().zip(named).collect())
}

/// Identity of a function of before, which is kept for the next start if there is a folder for it.
fn kept(config: &CoreConfig, place: Place) -> NfInstance {
    let mut octets = [0; 16];
    system::random(&mut octets);
    let new = NfInstance::random(octets);
    let Some(ContextsSection::Folder(section)) = &config.contexts else {
        tracing::warn!(
            "{place} has another NF instance with each start: neither contexts.folder nor a certificate keeps it"
        );
        return new;
    };
    let file = file(&section.folder.value, place);
    match keep(&file, new) {
        Ok(kept) => kept,
        Err(e) => {
            let file = file.display();
            tracing::warn!("{place} has another NF instance with the next start: {file}: {e}");
            new
        }
    }
}

fn file(folder: &Path, place: Place) -> PathBuf {
    let name = place.nf.to_string().to_lowercase();
    folder.join(format!("nf-instance-{name}-{}", place.instance()))
}

/// Identity of a file, which gets the new one if it has none.
fn keep(file: &Path, new: NfInstance) -> io::Result<NfInstance> {
    match fs::read_to_string(file) {
        Ok(text) => {
            if let Some(kept) = values::instance(text.trim()) {
                return Ok(kept);
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension("new");
    fs::write(&beside, format!("{new}\n"))?;
    fs::rename(&beside, file)?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_kept_and_one_that_is_none_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = file(&folder.path().join("contexts"), Place::from(Nf::Udm).at(1));
        assert!(file.ends_with("contexts/nf-instance-udm-1"));
        let [one, other] = [1, 2].map(|octet| NfInstance::random([octet; 16]));
        assert_eq!(keep(&file, one).expect("kept"), one);
        assert_eq!(keep(&file, other).expect("kept"), one);
        fs::write(&file, "nothing").expect("a file");
        assert_eq!(keep(&file, other).expect("kept"), other);
        fs::write(folder.path().join("none"), "").expect("a file");
        keep(&folder.path().join("none/file"), one).expect_err("no folder");
    }
}
