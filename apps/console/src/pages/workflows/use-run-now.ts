import type { Workflow, WorkflowRun } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import { useAct } from '../../api/use-act.ts';
import { counted } from '../../words/numbers.ts';
import { useForMany } from '../assign/use-for-many.tsx';

type Act = ReturnType<typeof useAct>['act'];

/** Runs a workflow at once, whatever its schedule; more than a hundred devices need a confirmation. */
export function useRunNow() {
  const { act, busy } = useAct();
  const cancel = useCancelRun(act);
  const { forMany, busy: isCounting, dialog } = useForMany();
  const run = (workflow: Workflow) =>
    void act(
      () => ask('POST', '/api/workflows/:id/run', { params: { id: workflow.id } }),
      (run) => ({
        text: `${workflow.name} runs for ${counted(run.targets, 'device')}.`,
        undo: { word: 'Undo', act: () => cancel(workflow.id, run) },
      }),
    );
  const runNow = (workflow: Workflow) => {
    // a schedule by expiry finds its devices only when it runs
    if ('beforeExpiryDays' in workflow.schedule) return run(workflow);
    const { action, name, targets } = workflow;
    void forMany({ targets, verb: 'Run', kind: `${name} (${action.kind})`, act: () => run(workflow) });
  };
  return { runNow, busy: busy || isCounting, dialog };
}

/** What waits ends; what a device already has continues. */
export function useCancelRun(act: Act) {
  return (id: string, run: WorkflowRun) =>
    void act(() => ask('POST', '/api/workflows/:id/runs/:runId/cancel', { params: { id, runId: run.id } }), {
      text: 'The run is cancelled. Actions that a device already has continue.',
    });
}
