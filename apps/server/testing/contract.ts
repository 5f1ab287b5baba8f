import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** Compares answers with the OpenAPI document that the server publishes. */
interface Description {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
  components: object;
}

export interface Contract {
  /** Throws if the answer differs from the description. */
  check(method: string, path: string, status: number, body: unknown): void;
}

/** Every server of a process publishes the same, so the first one is asked for all: building and compiling it takes half a second. */
let known: Promise<Contract> | undefined;

export function contractOf(url: string): Promise<Contract> {
  known ??= readContract(url).catch((error) => {
    known = undefined;
    throw error;
  });
  return known;
}

async function readContract(url: string): Promise<Contract> {
  const description = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
  ajv.addSchema({ $id: 'muster', components: description.components });
  const compiled = new Map<string, ValidateFunction>();
  const paths = Object.entries(description.paths).map(([path, methods]) => ({
    form: new RegExp(`^${path.replace('{destination}', '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    methods,
    path,
    // a fixed path comes before one with a parameter in the same place
    parameters: path.split('{').length,
  }));
  paths.sort((a, b) => a.parameters - b.parameters);

  function validator(key: string, schema: object): ValidateFunction {
    const known = compiled.get(key);
    if (known) return known;
    const text = JSON.stringify(schema).replaceAll('"#/components', '"muster#/components');
    const made = ajv.compile(JSON.parse(text));
    compiled.set(key, made);
    return made;
  }

  return {
    check(method, address, status, body) {
      const [path = ''] = address.split('?');
      const found = paths.find(({ form, methods }) => form.test(path) && methods[method.toLowerCase()]);
      const responses = found?.methods[method.toLowerCase()]?.responses ?? {};
      const schema = (responses[status] ?? responses.default)?.content?.['application/json']?.schema ?? {
        $ref: '#/components/schemas/Error',
      };
      const isRight = validator(`${method} ${found?.path} ${responses[status] ? status : 'default'}`, schema);
      if (!isRight(body))
        throw new Error(
          `The answer ${status} to ${method} ${path} is not as described: ${ajv.errorsText(isRight.errors)}\n${JSON.stringify(body)}`,
        );
    },
  };
}
