//! Subject and issuer of a client's certificate, in the form in which accounts name them: `/C=DE/O=Example/CN=ann`.

use std::fmt::Write as _;

use yasna::{ASN1Result, BERReader, parse_der};

/// Who a certificate is for, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerName {
    /// Its subject.
    pub subject: String,
    /// Its issuer.
    pub issuer: String,
}

impl PeerName {
    /// Of a certificate in DER; `None` if it is none.
    pub fn of(certificate: &[u8]) -> Option<PeerName> {
        parse_der(certificate, |reader| {
            reader.read_sequence(|certificate| {
                let name = certificate.next().read_sequence(|signed| {
                    // The version, [0].
                    signed.read_optional(|version| {
                        version.read_tagged(yasna::Tag::context(0), |number| number.read_der())
                    })?;
                    let _serial_number = signed.next().read_der()?;
                    let _algorithm = signed.next().read_der()?;
                    let issuer = one_line(signed.next())?;
                    let _validity = signed.next().read_der()?;
                    let subject = one_line(signed.next())?;
                    let _public_key = signed.next().read_der()?;
                    // Two identifiers and the extensions.
                    while signed.read_optional(|more| more.read_der())?.is_some() {}
                    Ok(PeerName { subject, issuer })
                })?;
                let _algorithm = certificate.next().read_der()?;
                let _signature = certificate.next().read_der()?;
                Ok(name)
            })
        })
        .ok()
    }
}

/// OpenSSL's short names of what a distinguished name consists of.
const ATTRIBUTES: &[(&[u64], &str)] = &[
    (&[2, 5, 4, 3], "CN"),
    (&[2, 5, 4, 4], "SN"),
    (&[2, 5, 4, 5], "serialNumber"),
    (&[2, 5, 4, 6], "C"),
    (&[2, 5, 4, 7], "L"),
    (&[2, 5, 4, 8], "ST"),
    (&[2, 5, 4, 9], "street"),
    (&[2, 5, 4, 10], "O"),
    (&[2, 5, 4, 11], "OU"),
    (&[2, 5, 4, 12], "title"),
    (&[2, 5, 4, 42], "GN"),
    (&[1, 2, 840, 113_549, 1, 9, 1], "emailAddress"),
    (&[0, 9, 2342, 19_200_300, 100, 1, 1], "UID"),
    (&[0, 9, 2342, 19_200_300, 100, 1, 25], "DC"),
];

/// A distinguished name as OpenSSL's `X509_NAME_oneline` writes it.
fn one_line(name: BERReader<'_, '_>) -> ASN1Result<String> {
    let mut line = String::new();
    name.read_sequence_of(|relative| {
        relative.read_set_of(|attribute| {
            attribute.read_sequence(|attribute| {
                let oid = attribute.next().read_oid()?;
                let known = ATTRIBUTES.iter().find(|(known, _)| oid.components().as_slice() == *known);
                let _ = match known {
                    Some((_, short)) => write!(line, "/{short}="),
                    None => {
                        let numbers: Vec<String> = oid.components().iter().map(u64::to_string).collect();
                        write!(line, "/{}=", numbers.join("."))
                    }
                };
                for byte in attribute.next().read_tagged_der()?.value() {
                    let _ = match byte {
                        b' '..=b'~' => write!(line, "{}", char::from(*byte)),
                        _ => write!(line, "\\x{byte:02X}"),
                    };
                }
                Ok(())
            })
        })
    })?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn names_are_written_as_openssl_writes_them() {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CountryName, "DE");
        params.distinguished_name.push(DnType::OrganizationName, "Grün & Co");
        params.distinguished_name.push(DnType::CommonName, "ann");
        params.distinguished_name.push(DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]), "ann@example.org");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let name = "/C=DE/O=Gr\\xC3\\xBCn & Co/CN=ann/emailAddress=ann@example.org";
        let found = PeerName::of(certificate.der()).unwrap();
        assert_eq!((found.subject.as_str(), found.issuer.as_str()), (name, name));
        assert_eq!(PeerName::of(b"no certificate"), None);
        assert_eq!(PeerName::of(&certificate.der()[..certificate.der().len() - 1]), None);
    }
}
