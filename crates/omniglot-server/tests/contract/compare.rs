//! Compares two descriptions; each difference that ours lacks is one line of text.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::STRICTER;
use crate::joined::joined;
use crate::shape::{Shape, reference, references, shape, variants};

pub(crate) struct Documents {
    pub(crate) theirs: Value,
    pub(crate) ours: Value,
}

impl Documents {
    pub(crate) fn differences(&self, excused: &[String]) -> Vec<String> {
        let mut out = vec![];
        for (path, item) in members(&self.theirs["paths"]) {
            if excused.contains(&format!("path {path}")) {
                continue;
            }
            for (method, operation) in members(item) {
                let at = format!("{method} {path}");
                match self.ours["paths"].get(path).and_then(|item| item.get(method)) {
                    Some(ours) => self.operation(&at, operation, ours, &mut out),
                    None => out.push(format!("{at}: missing")),
                }
            }
        }
        for (name, schema) in members(&self.theirs["components"]["schemas"]) {
            if excused.contains(&format!("schema {name}")) {
                continue;
            }
            match self.ours["components"]["schemas"].get(name) {
                Some(ours) => self.schema(name, schema, &joined(ours, &self.ours), &mut out),
                None => out.push(format!("schema {name}: missing")),
            }
        }
        self.demands(&mut out);
        out
    }

    fn operation(&self, at: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
        equal(at, "operationId", theirs, ours, out);
        for parameter in list(&theirs["parameters"]) {
            let at = format!("{at} parameter {}", parameter["name"]);
            let same = |other: &&Value| other["name"] == parameter["name"] && other["in"] == parameter["in"];
            match list(&ours["parameters"]).find(same) {
                Some(ours) => {
                    equal(&at, "required", parameter, ours, out);
                    // There is no null in a path or a query.
                    let not_null = shape(&parameter["schema"]).schema;
                    self.schema(&at, &not_null, &shape(&ours["schema"]).schema, out);
                }
                None => out.push(format!("{at}: missing")),
            }
        }
        if let Some(body) = theirs.get("requestBody") {
            equal(&format!("{at} body"), "required", body, &ours["requestBody"], out);
            self.content(&format!("{at} body"), body, &ours["requestBody"], out);
        }
        for (status, response) in members(&theirs["responses"]) {
            match ours["responses"].get(status) {
                Some(ours) => self.content(&format!("{at} {status}"), response, ours, out),
                None => out.push(format!("{at} {status}: missing")),
            }
        }
    }

    fn content(&self, at: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
        for (media, theirs) in members(&theirs["content"]) {
            // Problems have their own media type, which the contract's text demands but its file lacks.
            let problem = reference(&theirs["schema"]) == Some("ProblemDetails");
            let media = if problem { "application/problem+json" } else { media };
            match ours["content"].get(media) {
                Some(ours) => self.schema(at, &theirs["schema"], &ours["schema"], out),
                None => out.push(format!("{at}: no content {media}")),
            }
        }
    }

    fn schema(&self, at: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
        let (theirs, mut ours) = (shape(theirs), shape(ours));
        if let Some(name) = reference(&theirs.schema)
            && reference(&ours.schema) != Some(name)
        {
            return out.push(format!("{at}: not a {name}: {}", ours.schema));
        }
        if reference(&theirs.schema).is_none() && reference(&ours.schema).is_some() {
            ours = self.resolved(ours);
        }
        // Any value includes null.
        let any = theirs.schema.get("type").is_none() && variants(&theirs.schema).is_none();
        if theirs.nullable != ours.nullable && !any {
            out.push(format!("{at}: nullable {} but ours {}", theirs.nullable, ours.nullable));
        }
        let (theirs, ours) = (&theirs.schema, &ours.schema);
        for keyword in ["type", "format", "minimum"] {
            if theirs.get(keyword).is_some() && !STRICTER.contains(&(at, keyword)) {
                equal(at, keyword, theirs, ours, out);
            }
        }
        self.object(at, theirs, ours, out);
        self.choice(at, theirs, ours, out);
    }

    fn object(&self, at: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
        for required in
            list(&theirs["required"]).filter(|name| !list(&ours["required"]).any(|own| own == *name))
        {
            out.push(format!("{at}: {required} is not required"));
        }
        for (name, property) in members(&theirs["properties"]) {
            match ours["properties"].get(name).filter(|own| !own.is_null()) {
                Some(own) => self.schema(&format!("{at}.{name}"), property, own, out),
                None => out.push(format!("{at}.{name}: missing")),
            }
        }
        for keyword in ["items", "additionalProperties"] {
            match (theirs.get(keyword), ours.get(keyword)) {
                (Some(inner), Some(own)) => self.schema(&format!("{at} {keyword}"), inner, own, out),
                (Some(_), None) => out.push(format!("{at}: no {keyword}")),
                (None, _) => {}
            }
        }
    }

    fn choice(&self, at: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
        for value in list(&theirs["enum"]).filter(|value| !list(&ours["enum"]).any(|own| own == *value)) {
            out.push(format!("{at}: no value {value}"));
        }
        for (index, variant) in variants(theirs).into_iter().flatten().enumerate() {
            let fits = |own: &Value| {
                let mut differences = vec![];
                self.schema(at, variant, own, &mut differences);
                differences.is_empty()
            };
            if !variants(ours).into_iter().flatten().any(fits) {
                out.push(format!("{at}: no variant like number {index}: {variant}"));
            }
        }
    }

    /// Request bodies must not require more than the contract.
    fn demands(&self, out: &mut Vec<String>) {
        let bodies = members(&self.theirs["paths"])
            .flat_map(|(_, item)| members(item))
            .map(|(_, op)| &op["requestBody"]);
        let mut open: Vec<String> = bodies.flat_map(references).collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            let theirs = &self.theirs["components"]["schemas"][&name];
            let ours = &self.ours["components"]["schemas"][&name];
            if !seen.insert(name.clone()) || ours.is_null() {
                continue;
            }
            for extra in
                list(&ours["required"]).filter(|field| !list(&theirs["required"]).any(|own| own == *field))
            {
                out.push(format!("{name}: {extra} must be sent"));
            }
            open.extend(references(theirs));
        }
    }

    fn resolved(&self, from: Shape) -> Shape {
        match reference(&from.schema) {
            Some(name) => {
                let target = shape(&self.ours["components"]["schemas"][name]);
                self.resolved(Shape { nullable: from.nullable || target.nullable, schema: target.schema })
            }
            None => from,
        }
    }
}

fn equal(at: &str, keyword: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
    if theirs[keyword] != ours[keyword] {
        out.push(format!("{at}: {keyword} is {} but ours {}", theirs[keyword], ours[keyword]));
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
