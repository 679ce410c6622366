"""Checks answers against an OpenAPI 3.1 document: nothing a server says may be undocumented."""

import json
import re

import jsonschema


class Contract:
    """One document. `checked` counts the answers that were checked, by operation and status."""

    def __init__(self, document):
        self.document = document
        self.checked = {}
        self._paths = [(re.compile("^" + re.sub(r"\{[^}]+\}", "[^/]+", path) + "$"), item)
                       for path, item in document["paths"].items()]
        self._resolver = jsonschema.RefResolver("", document)

    def schema_errors(self, name, value):
        """What is wrong with `value` as components/schemas/`name`; empty: nothing."""
        return self._errors({"$ref": f"#/components/schemas/{name}"}, value)

    def check(self, method, path, answer):
        """AssertionError unless the operation documents this status, type and body.

        A path that no operation has must be answered with a Problem.
        """
        operation = self._operation(method, path.split("?")[0])
        where = f"{method} {path}: {answer.status}"
        media = (answer.headers["Content-Type"] or "").split(";")[0]
        if operation is None:
            assert media == "application/problem+json", f"{where}: undocumented path, {media}"
            self._assert_valid(where, {"$ref": "#/components/schemas/Problem"}, answer.json())
            return
        responses = operation["responses"]
        described = responses.get(str(answer.status))
        if described is None:
            assert answer.status >= 400, f"{where}: undocumented status"
            described = responses.get("default")
            assert described, f"{where}: undocumented error"
        described = self._resolve(described)
        assert media in described["content"], f"{where}: undocumented type {media}"
        schema = described["content"][media]["schema"]
        if media.endswith("json"):
            self._assert_valid(where, schema, json.loads(answer.body))
        for name, header in described.get("headers", {}).items():
            if (value := answer.headers[name]) is not None:
                schema = self._resolve(header)["schema"]
                if schema.get("type") == "integer":
                    value = int(value)
                self._assert_valid(f"{where} header {name}", schema, value)
        key = (operation["operationId"], answer.status)
        self.checked[key] = self.checked.get(key, 0) + 1

    def _operation(self, method, path):
        for pattern, item in self._paths:
            if pattern.match(path):
                return item.get(method.lower())
        return None

    def _resolve(self, thing):
        if "$ref" in thing:
            return self._resolver.resolve(thing["$ref"])[1]
        return thing

    def _assert_valid(self, where, schema, value):
        errors = self._errors(schema, value)
        assert not errors, f"{where}: " + "; ".join(errors)

    def _errors(self, schema, value):
        validator = jsonschema.Draft202012Validator(
            schema, resolver=self._resolver,
            format_checker=jsonschema.draft202012_format_checker)
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


class CheckedClient:
    """A rest.Client every answer of which is checked against the contract."""

    def __init__(self, client, contract):
        self.client = client
        self.contract = contract

    def request(self, method, path, **arguments):
        answer = self.client.request(method, path, **arguments)
        if method != "HEAD":
            self.contract.check(method, path, answer)
        return answer

    def stream(self, path, **arguments):
        return self.client.stream(path, **arguments)
