"""Certificates for servers of a test."""

import os
import subprocess


def self_signed(directory, address):
    """(key, certificate): files of a server at this IP address. Who trusts it trusts the
    certificate itself."""
    key, certificate = (os.path.join(directory, name) for name in ("tls.key", "tls.crt"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=infra",
                    "-addext", f"subjectAltName=IP:{address}", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return key, certificate
