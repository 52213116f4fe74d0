//! The certificates of a file in the place of the machine's, for every request.

use std::path::Path;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{self, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::open_error::AwsOpenError;

/// Reads the certificates that `https://` trusts in the place of the machine's.
///
/// # Errors
/// The file has none.
pub fn read_roots(path: &Path) -> Result<RootCertStore, AwsOpenError> {
    let mut roots = RootCertStore::empty();
    let found =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let why = match found.map(|found| roots.add_parsable_certificates(found)) {
        Ok((1.., 0)) => return Ok(roots),
        Ok((0, 0)) => "it has no certificate".to_owned(),
        Ok((_, bad)) => format!("{bad} of its certificates are damaged"),
        Err(error) => error.to_string(),
    };
    let path = path.to_owned();
    Err(AwsOpenError::CaBundle { path, why })
}

/// Returns the HTTP client of the providers of credentials: SSO, STS, sign-in, machines. It takes
/// the certificates of a file that [`read_roots`] has read, and the environment's proxies.
pub fn credential_client(ca_bundle: Option<&Path>) -> SharedHttpClient {
    let pem = ca_bundle.and_then(|path| std::fs::read(path).ok());
    let roots = match pem {
        Some(pem) => TrustStore::empty().with_pem_certificate(pem),
        None => TrustStore::default(),
    };
    let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    let context = TlsContext::builder().with_trust_store(roots).build();
    let context = context.unwrap_or_default();
    aws_smithy_http_client::Builder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = Connector::builder()
            .tls_provider(ring.clone())
            .tls_context(context.clone())
            .proxy_config(ProxyConfig::from_env());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    })
}
