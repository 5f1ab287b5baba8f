import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/**
 * How much a document may ask for: it nests ten levels at most and costs 1,000 at most. A field costs one, one that
 * is read by a statement of its own five; what stands under a page or a list costs as often as it may have entries; a change costs ten,
 * one of many devices a hundred. Questions about the schema
 * itself touch no data: their depth is not counted.
 */
export const MOST_DEPTH = 10;
export const MOST_COST = 1_000;
export const MOST_PER_PAGE = 100;
export const DEFAULT_PER_PAGE = 20;
/** A list that says nothing of its length: the ten types, what a bulk answers of the devices that it was given. */
const A_FEW = 10;
/** The same of the schema itself, whose lists nest and touch no data. */
const A_FEW_OF_SCHEMA = 3;
/** Arguments that say how many entries there are at most. */
const LENGTHS = new Set(['first', 'last']);
const READ = 5;
const CHANGE = 10;
const CHANGE_OF_MANY = 100;

interface Measure {
  readonly depth: number;
  readonly cost: number;
}
type Parent = GraphQLObjectType | null;
const NOTHING: Measure = { depth: 0, cost: 0 };

export function limitRule(context: ValidationContext): ASTVisitor {
  const schema = context.getSchema();
  // each fragment is measured once, however often it is spread: documents of fragments of fragments grow exponentially
  const fragments = new Map<string, Measure>();

  /** How often what stands under it may come: as often as the page has entries, or a list of few. */
  function entriesOf(
    field: FieldNode,
    definition: GraphQLField<unknown, unknown> | undefined,
    parent: Parent,
  ): number {
    if (!definition?.args.some(({ name }) => LENGTHS.has(name))) {
      if (!definition || !isListType(getNullableType(definition.type))) return 1;
      return parent?.name.startsWith('__') ? A_FEW_OF_SCHEMA : A_FEW;
    }
    const value = field.arguments?.find((one) => LENGTHS.has(one.name.value))?.value;
    if (!value) return DEFAULT_PER_PAGE;
    return value.kind === 'IntValue' ? Math.max(1, Number(value.value)) : MOST_PER_PAGE;
  }

  function ownCost(name: string, parent: Parent): number {
    if (parent === schema.getMutationType()) return name === 'assignBulkAction' ? CHANGE_OF_MANY : CHANGE;
    const isRead = parent === schema.getQueryType() && name !== 'actionTypes' && !name.startsWith('__');
    return isRead || (parent?.name === 'Batch' && name === 'devices') ? READ : 1;
  }

  function ofField(field: FieldNode, parent: Parent): Measure {
    const name = field.name.value;
    const definition = parent?.getFields()[name];
    const type = definition && getNamedType(definition.type);
    const inner = field.selectionSet ? ofSet(field.selectionSet, isObjectType(type) ? type : null) : NOTHING;
    // a page has its entries in `nodes`: they are counted once, by the page
    const entries = name === 'nodes' ? 1 : entriesOf(field, definition, parent);
    return {
      depth: name.startsWith('__') ? 0 : inner.depth + 1,
      cost: ownCost(name, parent) + entries * inner.cost,
    };
  }

  function ofFragment(name: string): Measure {
    const before = fragments.get(name);
    if (before) return before;
    fragments.set(name, NOTHING); // a circle is refused by another rule
    const definition = context.getFragment(name);
    const measure = definition
      ? ofSet(definition.selectionSet, typeNamed(definition.typeCondition.name.value))
      : NOTHING;
    fragments.set(name, measure);
    return measure;
  }

  function typeNamed(name: string): Parent {
    const type = schema.getType(name);
    return isObjectType(type) ? type : null;
  }

  function ofSet({ selections }: SelectionSetNode, parent: Parent): Measure {
    let { depth, cost } = NOTHING;
    for (const one of selections) {
      const measure =
        one.kind === 'Field'
          ? ofField(one, parent)
          : one.kind === 'FragmentSpread'
            ? ofFragment(one.name.value)
            : ofSet(one.selectionSet, one.typeCondition ? typeNamed(one.typeCondition.name.value) : parent);
      depth = Math.max(depth, measure.depth);
      cost += measure.cost;
    }
    return { depth, cost };
  }

  return {
    OperationDefinition(node) {
      const { depth, cost } = ofSet(node.selectionSet, schema.getRootType(node.operation) ?? null);
      if (depth > MOST_DEPTH || cost > MOST_COST)
        context.reportError(
          new GraphQLError(
            depth > MOST_DEPTH
              ? `The document is ${depth} levels deep; ${MOST_DEPTH} are allowed.`
              : `The document costs ${cost}; ${MOST_COST} is allowed. Ask for smaller pages.`,
            { nodes: node, extensions: { code: 'QUERY_TOO_COSTLY' } },
          ),
        );
      return false;
    },
  };
}
